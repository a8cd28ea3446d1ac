"""Shared by the four request bodies: the caller's extra options, and strict output schemas."""

from collections.abc import Mapping
from typing import cast

import msgspec

from agio.protocol.messages import Json

_UNCHECKED = frozenset(
    (
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems"),
        *("minProperties", "maxProperties", "default", "examples"),
    )
)


def encode_body(body: dict[str, Json], extra: Mapping[str, Json]) -> bytes:
    """Encode a request body; the caller's extra options are merged in last."""
    return msgspec.json.encode(deep_merge(body, extra))


def deep_merge(base: Mapping[str, Json], extra: Mapping[str, Json]) -> dict[str, Json]:
    """Merge objects recursively; any other value of `extra` replaces the base value."""
    merged = dict(base)
    for key, value in extra.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            value = deep_merge(cast(dict[str, Json], old), cast(dict[str, Json], value))
        merged[key] = value
    return merged


def is_strict(schema: Json) -> bool:
    """Whether a schema fits OpenAI's strict mode: closed objects, every property required."""
    if isinstance(schema, list):
        return all(map(is_strict, cast(list[Json], schema)))
    if not isinstance(schema, dict):
        return True
    node = cast(dict[str, Json], schema)
    if "properties" in node or node.get("type") == "object":
        properties = cast(dict[str, Json], node.get("properties") or {})
        required = cast(list[str], node.get("required") or [])
        if node.get("additionalProperties") is not False or set(required) != set(properties):
            return False
        return all(map(is_strict, properties.values())) and is_strict(node.get("$defs"))
    return all(map(is_strict, node.values()))


def close_objects(schema: Json) -> Json:
    """Return the schema with closed objects and without the value constraints that Anthropic refuses."""
    if isinstance(schema, list):
        return [close_objects(node) for node in cast(list[Json], schema)]
    if not isinstance(schema, dict):
        return schema
    node = cast(dict[str, Json], schema)
    closed: dict[str, Json] = {}
    for key, value in node.items():
        if key in ("properties", "$defs", "definitions") and isinstance(value, dict):
            named = cast(dict[str, Json], value)
            closed[key] = {name: close_objects(each) for name, each in named.items()}
        elif key not in _UNCHECKED:
            closed[key] = close_objects(value) if key not in ("enum", "const", "required") else value
    if closed.get("type") == "object" or "properties" in closed:
        closed["additionalProperties"] = False
    return closed
