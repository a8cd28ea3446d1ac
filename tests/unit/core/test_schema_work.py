"""Checking a value against a schema from outside is little work, and what cannot be checked so is left out."""

import time

import pytest

from agio import UserError
from agio.core.schema.schema import Schema, validator
from agio.protocol.messages import Json

LIMIT_S = 10.0
"""Of processor time, on a machine that has other things to do; without a bound these take minutes."""
TOO_LARGE = "it is too large to be checked against this schema"
LARGE: dict[str, tuple[Schema, Json]] = {
    "anyOf": ({"anyOf": [{"type": "string", "maxLength": at} for at in range(1500)]}, [1] * 500_000),
    "allOf": ({"allOf": [{"not": {"const": at}} for at in range(1500)]}, [1] * 500_000),
    "dependentRequired": ({"dependentRequired": {f"p{at}": ["a"] for at in range(2000)}}, [{}] * 300_000),
    "enum": ({"enum": [[at] for at in range(3000)]}, [[0.5]] * 160_000),
    "names": ({"patternProperties": {f"^a{at}": {} for at in range(32)}}, [{"a" * 1_000_000: 1}]),
    "a hostile pattern": ({"pattern": "(?:a|b)*a(?:a|b){3000}$"}, ["ab" * 1_000_000]),
    "often": ({"anyOf": [{"pattern": "(?:a|b)*a(?:a|b){3000}c"}, {"minLength": 9}]}, ["abba" * 900] * 1000),
}


def _nested(levels: int) -> Schema:
    schema: Schema = {"properties": {"a": {}}}
    for _ in range(levels):
        schema = {"if": schema, "unevaluatedProperties": False}
    return schema


@pytest.mark.parametrize(("items", "value"), LARGE.values(), ids=list(LARGE))
def test_a_large_value_for_a_large_schema_is_refused_at_once(items: Schema, value: Json) -> None:
    """S14: neither is too large by itself; together they would hold up all others for minutes."""
    started = time.process_time()
    assert validator({"items": items}, "x")(value) == TOO_LARGE
    assert time.process_time() - started < LIMIT_S


@pytest.mark.parametrize("key", ["anyOf", "oneOf"])
def test_the_place_at_which_no_alternative_fits_is_told_at_once(key: str) -> None:
    """S14: the checker would find all that is wrong with each item for each alternative first."""
    many: Schema = {"anyOf": [{"type": "string", "maxLength": at} for at in range(200)]}
    inner = validator({key: [{"type": "string"}, {"items": many}]}, "x")
    started = time.process_time()
    assert key in (inner([1] * 2000) or "")
    assert "(at 1999)" in (validator({"items": many}, "x")([""] * 1999 + [1]) or "")
    assert time.process_time() - started < LIMIT_S


@pytest.mark.parametrize(
    "schema",
    [_nested(18), Schema(allOf=[Schema()] * 5000), {"description": "x" * 70_000}],
    ids=["unevaluated", "parts", "bytes"],
)
def test_a_schema_that_is_too_much_work_by_itself_is_refused(schema: Schema) -> None:
    """S14: before it is compiled."""
    with pytest.raises(UserError, match="invalid_schema"):
        validator(schema, "x")


@pytest.mark.parametrize(
    "pattern",
    [
        *("^(?!x-)a", r"(a)\1", "((((a{1000}){1000}){1000}){1000})", r"(?i)[\p{L}]{3}", "a" * 501, "("),
        r"\p{L}{1000}",
    ],
)
def test_a_pattern_the_engine_cannot_take_is_left_out(pattern: str) -> None:
    """S14: texts and names are not checked for it, all else is, and whoever asks is told which it is."""
    check = validator({"items": {"pattern": pattern, "maxLength": 3}}, "x")
    assert check.left_out == [pattern]
    assert check(["zzz"]) is None
    assert check(["zzzz"]) is not None
    named = validator(
        {"patternProperties": {pattern: {"type": "string"}, "^b": False}, "additionalProperties": False}, "x"
    )
    assert named.left_out == [pattern]
    assert named({"z": 1}) is None
    assert named({"b": 1}) is not None
    assert validator({"not": {"pattern": pattern}}, "x")("zzz") is None
    assert validator({"const": {"pattern": pattern}}, "x")({"pattern": pattern}) is None


def test_patterns_beyond_the_32nd_are_left_out() -> None:
    """S14: each takes up to two milliseconds to compile."""
    check = validator({"allOf": [{"pattern": f"^a{{{at}}}"} for at in range(1, 100)]}, "x")
    assert len(check.left_out) == 99 - 32
    assert check("a" * 32) is None
    assert check("a") is not None


def test_a_schema_that_is_trusted_keeps_its_patterns() -> None:
    """L2: the author of a module may look around."""
    check = validator({"pattern": "^(?!x-)a"}, "x", is_trusted=True)
    assert (check("ab"), check.left_out) == (None, [])
    assert check("b") is not None


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
