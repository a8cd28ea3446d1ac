"""Checking a value against a schema is little work, whoever wrote the schema and however large the value is."""

import time

import pytest

from agio import UserError
from agio.core.pattern_cost import compile_cost, search_of
from agio.core.schema import Schema, validator
from agio.protocol.messages import Json

LIMIT_S = 20.0
"""Of processor time, on a machine that has other things to do; without a bound these take minutes."""
TOO_LARGE = "it is too large to be checked against this schema"
LARGE: list[tuple[Schema, Json]] = [
    ({"anyOf": [{"type": "string", "maxLength": at} for at in range(1500)]}, [1] * 500_000),
    ({"allOf": [{"not": {"const": at}} for at in range(2500)]}, [1] * 500_000),
    ({"properties": {f"p{at}": {} for at in range(3000)}}, [{}] * 300_000),
    ({"dependentRequired": {f"p{at}": ["a"] for at in range(2000)}}, [{}] * 300_000),
    ({"enum": [[at] for at in range(8000)]}, [[0.5]] * 160_000),
    (
        {"patternProperties": {f"^a{at}.*z$": {} for at in range(1500)}},
        [{f"a{at}": 1 for at in range(60_000)}],
    ),
    ({"allOf": [{"pattern": f"a+b{at}"} for at in range(2000)]}, ["a" * 1_000_000]),
    ({"pattern": "^(a|aa)+(?=x)$"}, ["a" * 400 + "c"] * 2000),
]


def _nested(levels: int) -> Schema:
    schema: Schema = {"properties": {"a": {}}}
    for _ in range(levels):
        schema = {"if": schema, "unevaluatedProperties": False}
    return schema


@pytest.mark.parametrize(
    ("items", "value"),
    LARGE,
    ids=["anyOf", "allOf", "properties", "dependentRequired", "enum", "names", "patterns", "backtracking"],
)
def test_a_large_value_for_a_large_schema_is_refused_at_once(items: Schema, value: Json) -> None:
    """S14: neither is too large by itself; together they would hold everybody up for minutes."""
    started = time.process_time()
    check = validator({"items": items}, "x")
    assert check(value) == TOO_LARGE
    assert time.process_time() - started < LIMIT_S


def test_what_is_wrong_is_told_at_once_however_many_are_wrong() -> None:
    """S14: only the first is looked for, though each alternative of each item would be an error of its own."""
    check = validator({"items": {"anyOf": [{"type": "string", "maxLength": at} for at in range(1500)]}}, "x")
    started = time.process_time()
    assert "anyOf" in (check([1]) or "")
    assert "anyOf" in (check([1] * 2000) or "")
    assert check(["a"]) is None
    same: Schema = {"items": {"allOf": [{"type": "string"}] * 2500}}
    assert "(at 0)" in (validator(same, "x")([1] * 1000) or "")
    assert time.process_time() - started < LIMIT_S


@pytest.mark.parametrize("key", ["anyOf", "oneOf"])
def test_what_is_wrong_with_alternatives_is_told_only_while_that_is_little(key: str) -> None:
    """S14: it is found for every item of an alternative before the first of them is told."""
    many: Schema = {"anyOf": [{"type": "string", "maxLength": at} for at in range(1500)]}
    check = validator({key: [{"type": "string"}, {"items": many}]}, "x")
    started = time.process_time()
    assert key in (check([1]) or "")
    assert check([1] * 2000) == "it is not what the schema says"
    assert time.process_time() - started < LIMIT_S


def test_a_pattern_that_goes_back_and_forth_gives_up() -> None:
    """S14: after so many steps it does not match; what is usual does."""
    check = validator({"pattern": "^(a|aa)+(?=x)$"}, "x")
    started = time.process_time()
    assert check("a" * 4000 + "c") is not None
    assert time.process_time() - started < LIMIT_S
    password = validator({"pattern": r"^(?=.*[A-Z])(?=.*\d)(?!.*secret).{8,}$"}, "x")
    assert password("a" * 5000 + "B7") is None
    assert password("a" * 5000 + "B7secret") is not None


@pytest.mark.parametrize(
    "schema",
    [
        _nested(18),
        {"allOf": [{"pattern": f"^\\p{{L}}[\\p{{L}} '-]{{0,100}}{at}$"} for at in range(1000)]},
        {"pattern": "((((a{1000}){1000}){1000}){1000})"},
        {"patternProperties": {"(\\w{1,1000}){1,1000}": {}}},
    ],
    ids=["unevaluated", "patterns", "repeats", "names"],
)
def test_a_schema_that_is_too_much_work_by_itself_is_refused(schema: Schema) -> None:
    """S14: before it is compiled."""
    started = time.process_time()
    with pytest.raises(UserError, match="invalid_schema"):
        validator(schema, "x")
    assert time.process_time() - started < LIMIT_S


def test_what_people_send_is_checked_whole() -> None:
    """C3: a megabyte of records, and a list of many numbers."""
    record: Schema = {
        "type": "object",
        "properties": {f"f{at}": {"type": "string"} for at in range(20)},
        "required": ["f0"],
    }
    check = validator({"type": "array", "items": record, "uniqueItems": False}, "x")
    rows: list[Json] = [{f"f{at}": "hello" for at in range(20)} for _ in range(4000)]
    assert check(rows) is None
    assert check([*rows, {"f0": 1}]) is not None
    assert validator({"uniqueItems": True, "items": {"type": "integer"}}, "x")(list(range(140_000))) is None


@pytest.mark.parametrize(
    ("pattern", "size"),
    [
        ("", 0),
        ("abc", 3),
        ("(ab){100}", 200),
        ("((a{10}){10}){10}", 1000),
        (r"\w{5}", 15),
        (r"(?=a)\w{5}", 4006),
        (r"\p{L}", 802),
        (r"[a\]b]{3}", 9),
        ("a{2,5}", 5),
        ("a{2,}", 2),
        ("(?:a|b)*", 4),
        (")(", 0),
    ],
)
def test_a_pattern_is_as_large_as_it_is_written_out(pattern: str, size: int) -> None:
    """S14: repeats within repeats multiply."""
    assert compile_cost(pattern) == size


@pytest.mark.parametrize(
    ("pattern", "looks"),
    [
        *(("a+b*", 0), ("(?=a)", 1), ("(?<!a)b", 1), (r"(a)\1", 1), ("(?:a)", 0), ("a++", 1)),
        *(
            ("[*+/]+", 0),
            ("[a(?=b]", 0),
            (r"\(?=a", 0),
            (r"a\++", 0),
            (r"\\1", 0),
            (r"[^]*+]", 0),
            ("(?<n>a)", 0),
        ),
    ],
)
def test_what_needs_another_engine_is_known(pattern: str, looks: int) -> None:
    """S14: looking around and back, and neither what is in a class nor what is escaped."""
    assert search_of(pattern).looks == looks


@pytest.mark.parametrize(
    ("pattern", "power"),
    [
        ("^(?!a)(?=.*b)(?!.*c)a+(b+)*$", 0),
        ("^[a-z]+(?<!b)$", 1),
        ("(?=a)", 1),
        ("^a|(?=b)", 2),
        ("^a*b*(?=c)", 2),
        ("^a{3}(?=b)", 0),
        ("^(a|aa)+(?=x)$", 101),
        ("^(?:(?=.*x)|a)+$", 100),
        ("^(?:(?!x)(a|aa)+)y", 101),
        (r"^(?=(a|aa)+\1z)a", 101),
    ],
)
def test_how_often_a_search_goes_back_is_known(pattern: str, power: int) -> None:
    """S14: what comes after the last look needs no going back."""
    assert search_of(pattern).power == power


@pytest.mark.parametrize("pattern", ["^(?:(?=.*b)a)+$", "(?=.*x)a", r"(a|aa)+\1y", "^(a|aa)+(?=x)$"])
@pytest.mark.parametrize("chars", [12, 60, 1000, 60_000])
def test_a_search_that_goes_back_in_many_texts_is_bounded(pattern: str, chars: int) -> None:
    """S14: whether it is refused or done."""
    check = validator({"contains": {"allOf": [{"pattern": pattern}, False]}}, "x")
    started = time.process_time()
    assert check(["a" * chars + "b"] * 10_000) is not None
    assert time.process_time() - started < LIMIT_S
