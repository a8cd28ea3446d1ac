"""Values that nobody should send, one at a time in each place of something that is otherwise fine."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, cast

import jsonschema_rs
import msgspec

from agio.protocol.messages import Json

HOLE = "\N{WHITE SQUARE}"
_HOLE = msgspec.json.encode(HOLE)
_SAMPLES = ("x", "a-b", "a@b.example", "http://127.0.0.1:9/")

LARGE = "more than a message may have"
VALUES: dict[str, bytes] = {
    "null": b"null",
    "an empty text": b'""',
    "zero": b"0",
    "an empty list": b"[]",
    "an empty object": b"{}",
    "half a surrogate": b'"\\ud800"',
    "the other half in an object": b'{"\\udc00": "\\udc00"}',
    "a megabyte": b'"' + b"a" * 2**20 + b'"',
    LARGE: b'"' + b"a" * 300_000 + b'"',
    "10,000 lists": b"[" * 10_000 + b"]" * 10_000,
    "10,000 objects": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
}


def filled(body: Json, value: bytes) -> bytes:
    """The JSON of a body with a value in its hole."""
    return msgspec.json.encode(body).replace(_HOLE, value)


class Schema:
    """A schema among others it refers to."""

    def __init__(self, node: Mapping[str, Any], described: Mapping[str, Any]) -> None:
        self._described = described
        self.node: Mapping[str, Any] = node
        while "$ref" in self.node:
            self.node = described["components"]["schemas"][self.node["$ref"].rpartition("/")[2]]

    def holes(self, value: Json) -> Iterator[tuple[str, Json]]:
        """Each place within a value, by name, and the value with a hole there. What is left out is filled in."""
        yield "", HOLE
        for part in self._alternatives(value):
            yield from part._inner_holes(value if part.fits(value) else part.example())

    def fits(self, value: Json) -> bool:
        """Whether a value is legal."""
        return self._validator.is_valid(value)

    @cached_property
    def _validator(self) -> jsonschema_rs.Validator:
        return jsonschema_rs.validator_for({**self.node, "components": self._described["components"]})

    def example(self) -> Json:
        """Something legal and small."""
        node = self.node
        for word in ("const", "default"):
            if node.get(word) is not None:
                return node[word]
        if "enum" in node:
            return node["enum"][0]
        for word in ("anyOf", "oneOf", "allOf"):
            if word in node:
                return self._at(node[word][0]).example()
        match node.get("type"):
            case "object":
                required = node.get("required", [])
                return {name: self._at(node["properties"][name]).example() for name in required}
            case "array":
                return [self._at(node.get("items", {})).example()]
            case "string":
                return next((one for one in _SAMPLES if self.fits(one)), "x")
            case "integer" | "number":
                return 1
            case "boolean":
                return True
            case _:
                return None

    def _at(self, node: Mapping[str, Any]) -> "Schema":
        return Schema(node, self._described)

    def _alternatives(self, value: Json) -> "Iterator[Schema]":
        found = [self._at(one) for word in ("anyOf", "oneOf") for one in self.node.get(word, [])]
        if not found:
            yield self
        for one in found:
            yield from one._alternatives(value)

    def _inner_holes(self, value: Json) -> Iterator[tuple[str, Json]]:
        if isinstance(value, dict):
            known = cast("dict[str, Json]", value)
            properties: Mapping[str, Any] = self.node.get("properties", {})
            for name, node in properties.items():
                inner = self._at(node)
                for place, made in inner.holes(known[name] if name in known else inner.example()):
                    yield f".{name}{place}", {**known, name: made}
            for name in () if properties else known:
                yield f".{name}", {**known, name: HOLE}
        elif isinstance(value, list) and value:
            items = cast("list[Json]", value)
            inner = self._at(self.node.get("items", {}))
            for place, made in inner.holes(items[0]):
                yield f"[0]{place}", [made, *items[1:]]


def holes_of(value: Json) -> Iterator[tuple[str, Json]]:
    """Each place within a value, by name, and the value with a hole there."""
    return Schema(_shape(value), {"components": {}}).holes(value)


def _shape(value: Json) -> dict[str, Any]:
    """A schema with the fields that a value has."""
    if isinstance(value, dict):
        fields = cast("dict[str, Json]", value)
        return {"type": "object", "properties": {name: _shape(inner) for name, inner in fields.items()}}
    if isinstance(value, list) and value:
        return {"type": "array", "items": _shape(cast("list[Json]", value)[0])}
    return {}
