"""What people write into schemas and send: it is accepted, and what is wrong with it is told."""

import pytest

from agio.core.schema.schema import Schema, validator
from agio.protocol.messages import Json

HTML_EMAIL = (
    r"^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
    r"(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$"
)
SEMVER = (
    r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
    r"(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?$"
)
UUID = r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$"
ONE_UUID = "6f0c2d6e-3b1a-4c58-9d0e-2f5a7b8c9d01"
TEXT: Schema = {"type": "string"}
PATTERNS = {
    "e-mail of HTML": (HTML_EMAIL, "ada.lovelace@mail.example.com", "ada at example"),
    "address": (r"^https?://[^\s/$.?#][^\s]*$", "https://example.com/a?b=c#d", "example"),
    "UUID": (UUID, ONE_UUID, "6f0c"),
    "date": (r"^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$", "2026-02-28", "2026-13-01"),
    "slug": (r"^[a-z0-9]+(?:-[a-z0-9]+)*$", "how-it-all-began", "-no-"),
    "words": (r"^[\w .,-]{1,1000}$", "Ada, Lovelace.", "<b>"),
    "letters of any language": (r"^\p{L}[\p{L} '-]*$", "Zoë O'Neill", "7"),
    "version": (SEMVER, "1.20.3-rc.1+build.5", "1.2"),
}


def _object(**properties: Json) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties)}


@pytest.mark.parametrize(("pattern", "right", "wrong"), PATTERNS.values(), ids=list(PATTERNS))
def test_a_usual_pattern_is_checked_beside_large_texts_and_in_many_rows(
    pattern: str, right: str, wrong: str
) -> None:
    """C3: it counts where it is, and not for all else that is sent with it."""
    kept: Schema = {"type": "string", "pattern": pattern}
    one = validator(_object(key=kept, content=TEXT, priority={"type": "integer", "maximum": 5}), "x")
    large = "b " * 500_000
    assert one({"key": right, "content": large, "priority": 5}) is None
    too_high = one({"key": right, "content": large, "priority": 9})
    assert too_high == "9 is greater than the maximum of 5 (at priority)"
    assert "does not match" in (one({"key": wrong, "content": large, "priority": 5}) or "")
    rows = validator(_object(rows={"type": "array", "items": _object(key=kept, name=TEXT, city=TEXT)}), "x")
    brief = right[:100] if len(right) > 100 else right
    many: list[Json] = [{"key": brief, "name": f"n{at}", "city": "c"} for at in range(5000)]
    assert rows({"rows": many}) is None
    told = rows({"rows": [*many, {"key": brief, "name": 1, "city": "c"}]})
    assert told == '1 is not of type "string" (at rows/5000/name)'


def test_a_large_schema_is_checked_beside_a_large_text() -> None:
    """C3: choices and properties are looked at once, however long the text beside them is."""
    codes: Schema = {"enum": [f"code{at}" for at in range(5000)]}
    coded = validator(_object(code=codes, text=TEXT), "x")
    assert coded({"code": "code4999", "text": "t" * 300_000}) is None
    assert "(at code)" in (coded({"code": "zz", "text": "t" * 300_000}) or "")
    wide = validator({**_object(**{f"p{at}": TEXT for at in range(199)}, content=TEXT), "required": []}, "x")
    assert wide({"content": "x" * 4_000_000}) is None
    assert wide({"content": "x" * 4_000_000, "p7": 1}) == '1 is not of type "string" (at p7)'


@pytest.mark.parametrize("key", ["anyOf", "oneOf"])
def test_one_wrong_row_among_alternatives_is_told(key: str) -> None:
    """C3: the alternatives of the other rows do not count."""
    kinds: list[Json] = [_object(kind={"const": f"k{at}"}, value=TEXT) for at in range(10)]
    check = validator({"type": "array", "items": {key: kinds}}, "x")
    rows: list[Json] = [{"kind": f"k{at % 10}", "value": "v"} for at in range(5000)]
    assert check(rows) is None
    assert "(at 5000)" in (check([*rows, {"kind": "other", "value": "v"}]) or "")


def test_patterns_behind_references_and_by_name_are_checked() -> None:
    """C3: a tree of nodes, and headers by name."""
    node = _object(id={"pattern": HTML_EMAIL}, children={"type": "array", "items": {"$ref": "#/$defs/node"}})
    tree = validator({"$defs": {"node": node}, "$ref": "#/$defs/node"}, "x")
    leaf: Json = {"id": "a@example.com", "children": []}
    wrong: Json = {"id": "a", "children": []}
    assert tree({"id": "a@example.com", "children": [leaf] * 3000}) is None
    assert "(at children/0/id)" in (tree({"id": "a@example.com", "children": [wrong]}) or "")
    headers = validator(
        {"patternProperties": {r"^[a-wyz][a-z-]*$": TEXT}, "additionalProperties": False}, "x"
    )
    assert headers({f"h-{'a' * at}": "v" * 1000 for at in range(1, 200)}) is None
    assert headers({"x-a": "v"}) is not None


def test_a_long_text_that_is_wrong_is_not_told_whole() -> None:
    """C3: the model reads what is wrong, and where."""
    told = validator(_object(text={"maxLength": 5}), "x")({"text": "x" * 1_000_000}) or ""
    assert told.endswith("is longer than 5 characters (at text)")
    assert len(told) < 3000
