"""The calculator: right for arithmetic, and unharmed by everything else."""

import pytest

from agio.tools.calculator import calculator


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("2 + 3 * 4", "14"),
        ("(2 + 3) * 4", "20"),
        ("7 / 2", "3.5"),
        ("6 / 2", "3"),
        ("7 // 2", "3"),
        ("7 % 4", "3"),
        ("2 ** 10", "1024"),
        ("2 ^ 10", "1024"),
        ("-(-3)", "3"),
        ("0.1 + 0.2", "0.3"),
        ("1e30", "1e+30"),
        ("10 ** 20", "100000000000000000000"),
        ("1_000 + 1", "1001"),
        (" 1\t+ 1 ", "2"),
        ("10 ** -1000", "0"),
        ("-" * 499 + "1", "-1"),
    ],
)
def test_arithmetic_is_right(expression: str, result: str) -> None:
    """L2: numbers come out as people write them."""
    assert calculator(expression) == result


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("9**9**9", "exponent is too large"),
        ("(10**99)**999", "reasonable size"),
        ("9" * 490 + "**999", "reasonable size"),
        ("1/0", "division by zero"),
        ("1//0", "division by zero"),
        ("5 % 0", "division by zero"),
        ("0 ** -1", "division by zero"),
        ("1e999", "reasonable size"),
        ("-1e999", "reasonable size"),
        ("1e999 - 1e999", "reasonable size"),
        ("1e300 * 1e300", "reasonable size"),
        ("9" * 400, "reasonable size"),
        ("(-8) ** 0.5", "reasonable size"),
        ("nan", "only numbers"),
        ("2j", "only numbers"),
        ("True + 1", "only numbers"),
        ("'a' * 9", "only numbers"),
        ("x", "only numbers"),
        ("(1).__class__", "only numbers"),
        ("__import__('os').system('true')", "only numbers"),
        ("[1][0]", "only numbers"),
        ("1 < 2", "only numbers"),
        ("1, 2", "only numbers"),
        ("lambda: 1", "only numbers"),
        ("1 if 1 else 2", "only numbers"),
        ("~1", "only numbers"),
        ("1if 1else 2", "not an arithmetic expression"),
        ("", "not an arithmetic expression"),
        ("1 +", "not an arithmetic expression"),
        ("1\n2", "not an arithmetic expression"),
        ("\ud800", "not an arithmetic expression"),
        ("(" * 1000 + "1" + ")" * 1000, "longer than 500"),
        ("1" * 600, "longer than 500"),
        ("(" * 249 + "1" + ")" * 249, "arithmetic expression"),
    ],
)
def test_hostile_input_is_a_value_error_with_a_reason(expression: str, words: str) -> None:
    """L13: nothing but arithmetic is worked out, quickly and without harm."""
    with pytest.raises(ValueError, match=words):
        calculator(expression)


def test_a_null_byte_is_a_value_error() -> None:
    """L13: whichever error this Python has for it."""
    with pytest.raises(ValueError, match=r"null|arithmetic"):
        calculator("1\x00")


@pytest.mark.parametrize("error", [RecursionError, MemoryError])
def test_a_parser_at_its_end_is_a_value_error(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """L13: what a Python's own parser cannot take does not break the run."""

    def parse(source: str, mode: str) -> None:
        raise error

    monkeypatch.setattr("ast.parse", parse)
    with pytest.raises(ValueError, match="nested too deeply"):
        calculator("1")
