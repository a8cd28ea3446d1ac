"""How much work a JSON schema makes: teams write schemas, and each reference may double the work.

A check holds up everything else in the process. So the work is counted before: the parts of the schema that one place
in a value may meet, times the places.
"""

from collections.abc import Iterator
from typing import cast
from urllib.parse import unquote

from agio.protocol.messages import Json, json_object

_MAX_VISITS = 100_000
"""How many parts of a schema one place in a value may meet: some milliseconds."""
_MAX_WORK = 500_000
"""The same for a whole value: some tens of milliseconds."""
_TEXT_A_PLACE = 1024
"""A long text counts as several places."""
_NAME_A_PLACE = 32
"""A long name as more: patterns read all of it."""
_REPEATED = 3
"""How often parts are looked at again to find out what none of them looked at."""
_REFERENCES = frozenset(("$ref", "$dynamicRef", "$recursiveRef"))
_ANCHORS = ("$anchor", "$dynamicAnchor")
_SAME_PLACE = frozenset(
    ("anyOf", "oneOf", "allOf", "not", "if", "then", "else", "dependentSchemas", "dependencies")
)
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
_ONE_OF_MANY = ("properties", "prefixItems")
"""Each of these is for another part of the value."""
_BY_NAME = ("dependentSchemas", "dependencies", "patternProperties")
_BELOW = frozenset(
    (
        *("items", "additionalItems", "unevaluatedItems", "contains", "patternProperties"),
        *("additionalProperties", "unevaluatedProperties", "propertyNames"),
    )
)


class SchemaCost:
    """Counts how many parts of a schema are looked at for one place in a value, and for what is below it."""

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
        except RecursionError:  # hundreds of references, each to the next
            self._most = _MAX_VISITS + 1

    def is_bounded(self) -> bool:
        """Whether any value can be checked. What refers to itself is looked at once: the checker remembers it."""
        return self._most <= _MAX_VISITS

    def is_affordable(self, value: Json) -> bool:
        """Whether this value can be checked in a moment."""
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
        """Whatever a reference may mean: which base it is relative to is not looked into."""
        address, _, fragment = unquote(reference).partition("#")
        if fragment.startswith("/"):
            found = [target for root in self._roots for target in _pointed(root, fragment)]
        else:
            found = self._named.get(fragment or address.rpartition("/")[2], [])
        return found or self._roots


def _own_work(node: dict[str, Json]) -> int:
    """How much there is to look at in one part of a schema, beside other parts."""
    listed = node.get("enum")
    choices = len(cast("list[Json]", listed)) // 8 if isinstance(listed, list) else 0
    return 1 + len(json_object(node.get("dependentRequired"))) + choices


def _size_of(value: Json, enough: int) -> int:
    """How many places a value has; it stops counting beyond enough."""
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
    """The schemas of a keyword: one, a list of them, or some by name."""
    value = node.get(key)
    is_one = isinstance(value, dict) and key not in _BY_NAME
    return [value] if is_one else _children(node.get(key))


def _children(value: Json) -> list[Json]:
    if isinstance(value, dict):
        return list(cast("dict[str, Json]", value).values())
    return cast("list[Json]", value) if isinstance(value, list) else []
