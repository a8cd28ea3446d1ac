"""Types to schemas, values to types, and schemas that may not reach outside."""

import asyncio
import dataclasses
from collections.abc import Callable
from pathlib import Path

import msgspec
import pydantic
import pytest

from agio import UserError
from agio.core.schema.schema import OutputType, Schema, convert, to_json, validator
from agio.protocol.messages import Json


class Inner(pydantic.BaseModel):
    n: int


class Node(msgspec.Struct):
    value: int
    next: "Node | None" = None


@dataclasses.dataclass
class Mixed:
    inner: Inner
    by_number: dict[int, str]
    rest: object = None


def test_json_becomes_values_of_the_type() -> None:
    """L2: nested models are built, keys of a JSON object become numbers where the type says so."""
    value = convert({"inner": {"n": 1}, "by_number": {"7": "seven"}, "rest": [1, {"a": None}]}, Mixed)
    assert value == Mixed(Inner(n=1), {7: "seven"}, [1, {"a": None}])


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"inner": {"n": "x"}, "by_number": {}}, "n"),
        ({"inner": {}, "by_number": {}}, "n"),
        ({"inner": {"n": 1}, "by_number": {"a": "b"}}, "by_number"),
        ({"inner": {"n": 1}}, "by_number"),
        ([], "object"),
        (None, "object"),
    ],
)
def test_a_value_that_does_not_fit_is_a_value_error_that_says_where(value: object, words: str) -> None:
    """L13: the model is told which field is wrong."""
    with pytest.raises(ValueError, match=words):
        convert(value, Mixed)


def test_values_become_plain_json() -> None:
    """L2: dataclasses and pydantic models serialise, strangers are a TypeError."""
    assert to_json([Mixed(Inner(n=2), {1: "a"}), b"ab"]) == [
        {"inner": {"n": 2}, "by_number": {1: "a"}, "rest": None},
        "YWI=",
    ]
    with pytest.raises(TypeError, match="object"):
        to_json(object())


@pytest.mark.parametrize("draft", ["http://json-schema.org/draft-07/schema#", None])
def test_a_schema_checks_values_and_names_the_place(draft: str | None) -> None:
    """L2: the validator returns the first problem with its path, None for a good value."""
    schema: Schema = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}}
    check = validator({**schema, "$schema": draft} if draft else schema, "It")
    assert check({"a": [1, 2]}) is None
    problem = check({"a": [1, "x"]})
    assert problem is not None
    assert "a/1" in problem


def _doubled(part: Callable[[Schema], Schema], name: str = "$defs/a{}", key: str = "$ref") -> Schema:
    """Forty definitions, each of which refers to the one before."""
    steps = range(1, 41)
    defs: Schema = {f"a{step}": part({key: f"#/{name.format(step - 1)}"}) for step in steps}
    return {"$defs": {"a0": {"type": "object"}, **defs}, "$ref": "#/$defs/a40"}


@pytest.mark.parametrize(
    "schema",
    [
        _doubled(lambda one: {"allOf": [one, one]}),
        _doubled(lambda one: {"anyOf": [one, one]}, "%24defs/%61{}"),
        _doubled(lambda one: {"if": one, "then": one}),
        _doubled(lambda one: {"properties": {"x": one}, "patternProperties": {".": one}}),
        _doubled(lambda one: {"allOf": [{"items": one}, {"contains": one}]}),
        _doubled(lambda one: {"dependentSchemas": {"a": one, "b": one}}),
    ],
)
def test_a_schema_whose_references_multiply_is_refused(schema: Schema) -> None:
    """C6: a few lines would keep the whole process busy for hours over one value."""
    with pytest.raises(UserError, match="references multiply") as caught:
        validator(schema, "The parameters")
    assert caught.value.code == "invalid_schema"


def test_references_by_name_multiply_too() -> None:
    """C6: an anchor or an id is as good as a path."""
    for anchor, reference in (("$anchor", "#a{}"), ("$dynamicAnchor", "#a{}"), ("$id", "a{}")):
        key = "$dynamicRef" if anchor == "$dynamicAnchor" else "$ref"
        defs: Schema = {
            f"a{step}": {anchor: f"a{step}", "allOf": [{key: reference.format(step - 1)}] * 2}
            for step in range(1, 41)
        }
        defs["a0"] = {anchor: "a0", "type": "object"}
        with pytest.raises(UserError, match="references multiply"):
            validator({"$id": "http://x/", "$defs": defs, key: reference.format(40)}, "It")


def test_what_refers_to_itself_is_checked_at_any_depth() -> None:
    """C6: alternatives of alternatives are not told one by one: that would take longer with every level."""
    kinds = ["text", "row", "column", "box", "card", "list", "link", "image"]
    schema: Schema = {
        "anyOf": [
            {
                "type": "object",
                "properties": {"kind": {"const": kind}, "inside": {"type": "array", "items": {"$ref": "#"}}},
                "required": ["kind"],
            }
            for kind in kinds
        ]
    }
    check = validator(schema, "It")
    good: Json = {"kind": "image"}
    bad: Json = {"kind": "none"}
    for _ in range(20):
        good, bad = {"kind": "card", "inside": [good]}, {"kind": "card", "inside": [bad]}
    assert check(good) is None
    assert "one of the alternatives" in (check(bad) or "")


async def test_a_schema_never_reaches_out(tmp_path: Path) -> None:
    """C6: a reference to an address or a file is refused without opening it: clients declare schemas too."""
    visits: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visits.append("visit")
        writer.close()

    file = tmp_path / "schema.json"
    file.write_text('{"type": "string"}')
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        for uri in (f"http://127.0.0.1:{port}/schema.json", file.as_uri()):
            schema: Schema = {"type": "object", "properties": {"a": {"$ref": uri}}}
            with pytest.raises(UserError, match="outside the schema") as caught:
                await asyncio.to_thread(validator, schema, "The parameters")
            assert caught.value.code == "invalid_schema"
    assert visits == []


def test_an_answer_is_parsed_as_its_type() -> None:
    """L7: an output type takes the JSON of the answer, in a markdown fence or not."""
    output = OutputType(Mixed)
    text = '{"inner": {"n": 1}, "by_number": {}}'
    assert output.parse(text) == output.parse(f"```json\n{text}\n```") == Mixed(Inner(n=1), {})
    assert output.name == "Mixed"
    plain = OutputType({"title": "Sum", "type": "integer"})
    assert plain.parse("5") == 5
    assert plain.name == "Sum"
    assert OutputType({"title": "no identifier", "type": "integer"}).name == "output"


@pytest.mark.parametrize("kind", [Mixed, {"type": "object"}])
@pytest.mark.parametrize("text", ["", "no", "{", "[1]", "[" * 100_000, '"\\ud800"', "NaN"])
def test_an_answer_that_does_not_fit_is_a_value_error(kind: object, text: str) -> None:
    """L13: whatever the model writes, it is told what is wrong."""
    with pytest.raises(ValueError, match=r"\S"):
        OutputType(kind).parse(text)


@pytest.mark.parametrize("kind", ["Mixed", 5, object(), complex, [], {"type": "nope"}, {1: 2}])
def test_an_output_type_without_a_schema_is_refused(kind: object) -> None:
    """L13: the error has a stable code and names the argument."""
    with pytest.raises(UserError, match="output_type") as caught:
        OutputType(kind)
    assert caught.value.code == "invalid_schema"


def test_a_schema_of_a_struct_is_valid() -> None:
    """L2: what we send as a schema is one, and checks what is inside of what it contains."""
    validator(OutputType(Inner).schema, "It")
    check = validator(OutputType(Node).schema, "It")
    assert check({"value": 1, "next": {"value": 2, "next": {"value": 3}}}) is None
    assert check({"value": 1, "next": {"value": 2, "next": {"value": "x"}}}) is not None
