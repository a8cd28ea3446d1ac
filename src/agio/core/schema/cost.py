"""The validation cost of an untrusted JSON schema, in which each reference may double the work.

Validation blocks the process, so its cost is bounded in advance: the number of subschemas evaluated per node of a
value, times the number of nodes.
"""

from collections.abc import Iterator
from typing import cast
from urllib.parse import unquote

from agio.protocol.messages import Json, json_object

_MAX_VISITS = 100_000
"""The most subschemas that may be evaluated for one node of a value: a few milliseconds."""
_MAX_WORK = 500_000
"""The same for a whole value: tens of milliseconds."""
_TEXT_A_PLACE = 1024
"""Each further 1024 characters of a string count as another node."""
_NAME_A_PLACE = 32
"""Property names count more, because patterns search the whole name."""
_REPEATED = 3
"""How often `unevaluated*` keywords cause the adjacent subschemas to be evaluated."""
_REFERENCES = frozenset(("$ref", "$dynamicRef", "$recursiveRef"))
_ANCHORS = ("$anchor", "$dynamicAnchor")
_SAME_PLACE = frozenset(
    ("anyOf", "oneOf", "allOf", "not", "if", "then", "else", "dependentSchemas", "dependencies")
)
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
_ONE_OF_MANY = ("properties", "prefixItems")
"""Each subschema of these keywords applies to a different child of the value."""
_BY_NAME = ("dependentSchemas", "dependencies", "patternProperties")
_BELOW = frozenset(
    (
        *("items", "additionalItems", "unevaluatedItems", "contains", "patternProperties"),
        *("additionalProperties", "unevaluatedProperties", "propertyNames"),
    )
)


class SchemaCost:
    """Counts the subschemas evaluated for one node of a value and its children."""

    def __init__(self, schema: Json) -> None:
        self._roots: list[Json] = [schema]
        self._named: dict[str, list[Json]] = {}
        self._counted: dict[int, int] = {}
        parts: list[Json] = [schema]
        while parts:
            part = parts.pop()
            parts += _children(part)
            if isinstance(part, dict):
                self._note(cast("dict[str, Json]", part))
        try:
            self._most = self._visits(schema)
        except RecursionError:  # a chain of hundreds of references
            self._most = _MAX_VISITS + 1
        self._roots, self._named, self._counted = [], {}, {}  # would keep the whole schema in memory

    def is_bounded(self) -> bool:
        """Whether the cost per node is bounded. A recursive reference counts once: the validator caches it."""
        return self._most <= _MAX_VISITS

    def is_affordable(self, value: Json) -> bool:
        """Whether validating this value stays within the work limit."""
        places = _MAX_WORK // self._most
        return _size_of(value, places) <= places

    def _visits(self, part: Json) -> int:
        if (known := self._counted.get(id(part))) is not None:
            return known
        self._counted[id(part)] = 1
        beside = below = most = 0
        node = json_object(part)
        for key in node:
            if key in _SAME_PLACE:
                beside += sum(map(self._visits, _schemas(node, key)))
            elif key in _BELOW:
                below += sum(map(self._visits, _schemas(node, key)))
            elif key in _ONE_OF_MANY:
                most = max(most, *map(self._visits, _children(node[key])), 0)
            elif key in _REFERENCES and isinstance(reference := node[key], str):
                beside += max(map(self._visits, self._targets(reference)))
        times = _REPEATED if any(key in node for key in _UNEVALUATED) else 1
        count = beside * times + _own_work(node) + below + most
        self._counted[id(part)] = count = min(count, _MAX_VISITS + 1)
        return count

    def _note(self, part: dict[str, Json]) -> None:
        for key in _ANCHORS:
            if isinstance(anchor := part.get(key), str):
                self._named.setdefault(anchor, []).append(part)
        for key in ("$id", "id"):
            if isinstance(name := part.get(key), str):
                self._roots.append(part)
                self._named.setdefault(unquote(name).strip("#").rpartition("/")[2], []).append(part)

    def _targets(self, reference: str) -> list[Json]:
        """Return every possible target of a reference. Base URIs are not resolved."""
        address, _, fragment = unquote(reference).partition("#")
        if fragment.startswith("/"):
            found = [target for root in self._roots for target in _pointed(root, fragment)]
        else:
            found = self._named.get(fragment or address.rpartition("/")[2], [])
        return found or self._roots


def _own_work(node: dict[str, Json]) -> int:
    """Return the cost of a subschema's own keywords, without nested subschemas."""
    listed = node.get("enum")
    choices = len(cast("list[Json]", listed)) // 8 if isinstance(listed, list) else 0
    return 1 + len(json_object(node.get("dependentRequired"))) + choices


def _size_of(value: Json, enough: int) -> int:
    """Count the nodes of a value. Stop once the count exceeds `enough`."""
    size, waiting = 0, [value]
    while waiting and size <= enough:
        part = waiting.pop()
        size += 1
        if isinstance(part, str):
            size += len(part) // _TEXT_A_PLACE
        elif isinstance(part, dict):
            names = cast("dict[str, Json]", part)
            size += sum(map(len, names)) // _NAME_A_PLACE
            waiting += names.values()
        elif isinstance(part, list):
            waiting += cast("list[Json]", part)
    return size


def _pointed(root: Json, pointer: str) -> Iterator[Json]:
    found = root
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list):
            items = cast("list[Json]", found)
            found = items[int(name)] if name.isdecimal() and int(name) < len(items) else None
        else:
            found = json_object(found).get(name)
    if isinstance(found, dict):
        yield cast("Json", found)


def _schemas(node: dict[str, Json], key: str) -> list[Json]:
    """Return the subschemas of a keyword, which holds one schema, a list, or a mapping by name."""
    value = node.get(key)
    is_one = isinstance(value, dict) and key not in _BY_NAME
    return [value] if is_one else _children(node.get(key))


def _children(value: Json) -> list[Json]:
    if isinstance(value, dict):
        return list(cast("dict[str, Json]", value).values())
    return cast("list[Json]", value) if isinstance(value, list) else []
