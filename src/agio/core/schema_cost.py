"""How much work a JSON schema makes: teams and clients write schemas, and each reference may double the work.

While a value is checked, everybody else in the process waits. So the work is counted before, as the parts of the schema
that are looked at for one place in a value, times the places there are.
"""

from collections.abc import Iterable, Iterator
from typing import cast
from urllib.parse import unquote

from agio.core.pattern_cost import CHARS_A_PLACE, Search, compile_cost, search_of
from agio.core.value_cost import Part, TooMuch, ValueCost
from agio.protocol.messages import Json, json_object

_MAX_VISITS = 1_000_000
"""How many parts of a schema may be looked at for one place in a value: about a tenth of a second."""
_MAX_EXPLAINED = 1_000
"""With how many one can still be told what is wrong: it is said for every alternative of every alternative."""
_MAX_WORK = 20_000_000
"""How many may be looked at for a whole value: some tenths of a second."""
_MAX_EXPLAINED_WORK = 50_000
"""And for the alternatives of one place, to tell why none of them fits: all of it is written down."""
_MAX_PATTERNS = 2_000_000
"""How large the patterns of a schema may be in all: they are compiled within a second."""
_A_PATTERN = 20
"""What each pattern counts as, however short it is."""
_MAX_PARTS = 100_000
"""How many parts the schemas of one client may have in all: they are compiled in about a second."""
_REPEATED = 3
"""How often parts are looked at again to find out what none of them looked at."""
_MAX_DEPTH = 64
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_ANCHORS = ("$anchor", "$dynamicAnchor")
_ALTERNATIVES = ("anyOf", "oneOf")
_BESIDE = ("allOf", "not", "if", "then", "else", "dependentSchemas", "dependencies")
_SAME_PLACE = (*_ALTERNATIVES, *_BESIDE)
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
_ONE_OF_MANY = ("properties", "prefixItems")
"""Each of these is for another part of the value."""
_BY_NAME = ("dependentSchemas", "dependencies", "patternProperties")
_BELOW = (
    *("items", "additionalItems", "unevaluatedItems", "contains"),
    *("patternProperties", "additionalProperties", "unevaluatedProperties", "propertyNames"),
)
_EACH = ("unevaluatedItems", "contains", "patternProperties", "unevaluatedProperties")
"""What may be for any item, or any property."""


class SchemaCost:
    """Counts how many parts of a schema are looked at for one place in a value, and for what is below it."""

    def __init__(self, schema: Json) -> None:
        self._schema = schema
        self._refers = False
        self._roots: list[Json] = [schema]
        self._named: dict[str, list[Json]] = {}
        self._counted: dict[tuple[int, int | None], int] = {}
        self._sorted: dict[int, Part] = {}
        self._goes_back = False
        self._has_alternatives = False
        self.patterns = 0
        """How large its patterns are."""
        self.parts = 0
        """How many parts it has."""
        parts: list[Json] = [schema]
        while parts:
            part = parts.pop()
            self.parts += 1
            parts += _children(part)
            if isinstance(part, dict):
                self._note(cast("dict[str, Json]", part))

    def is_bounded(self) -> bool:
        """Whether any value can be checked. What refers to itself is looked at once: the checker remembers it."""
        return self._within(_MAX_VISITS, None)

    def has_small_patterns(self) -> bool:
        """Whether all its patterns can be compiled in a moment."""
        return self.patterns <= _MAX_PATTERNS

    def is_affordable(self, value: Json) -> bool:
        """Whether this value can be checked in a moment."""
        if not self._goes_back:
            places = _MAX_WORK // self._visits(self._schema, None)
            if _size_of(value, places) <= places:
                return True
        return self._walked(value) is not None

    def is_explained(self, value: Json) -> bool:
        """Whether what is wrong with a value can be told: of alternatives, it is told what is wrong with each."""
        if not self._has_alternatives:
            return True
        if self._refers and not (
            (depth := _depth_of(value)) <= _MAX_DEPTH and self._within(_MAX_EXPLAINED, depth)
        ):
            return False
        walked = self._walked(value)
        return walked is not None and walked.alternatives <= _MAX_EXPLAINED_WORK

    def _walked(self, value: Json) -> ValueCost | None:
        cost = ValueCost(self._part_of, _MAX_WORK)
        try:
            cost.work(self._schema, value)
        except (TooMuch, RecursionError):
            return None
        return cost

    def _part_of(self, schema: Json) -> Part:
        if (known := self._sorted.get(id(schema))) is None:
            known = self._sorted[id(schema)] = self._sort(schema)
        return known

    def _sort(self, schema: Json) -> Part:
        node = json_object(schema)
        items = node.get("items")
        first = "items" if isinstance(items, list) else "prefixItems"
        others = "additionalItems" if isinstance(items, list) else "items"
        references = [each for key in _REFERENCES if isinstance(each := node.get(key), str)]
        beside = [child for key in _BESIDE for child in _schemas(node, key)]
        alternatives = [child for key in _ALTERNATIVES for child in _schemas(node, key)]
        patterns = _searches(node.get("pattern"))
        return Part(
            visits=self._visits(schema, None),
            own=_own_work(node),
            times=_times(node),
            is_plain=not (beside or alternatives or references or patterns),
            patterns=patterns,
            name_patterns=_searches(*json_object(node.get("patternProperties"))),
            beside=beside,
            alternatives=alternatives,
            targets=[self._targets(reference) for reference in references],
            properties=json_object(node.get("properties")),
            first_items=_children(node.get(first)),
            below=[child for key in _EACH for child in _schemas(node, key)],
            other_properties=_schemas(node, "additionalProperties"),
            other_items=_schemas(node, others),
            names=_schemas(node, "propertyNames"),
        )

    def _within(self, most: int, depth: int | None) -> bool:
        try:
            return self._visits(self._schema, depth) <= most
        except RecursionError:  # hundreds of references, each to the next
            self._counted.clear()
            return False

    def _visits(self, part: Json, depth: int | None) -> int:
        """How many there are for a value with so many levels; None: until the schema comes back to itself."""
        place = (id(part), depth)
        if (known := self._counted.get(place)) is not None:
            return known
        self._counted[place] = 1
        node = json_object(part)
        count = sum(self._visits(child, depth) for key in _SAME_PLACE for child in _schemas(node, key))
        for key in _REFERENCES:
            if isinstance(reference := node.get(key), str):
                count += max(self._visits(target, depth) for target in self._targets(reference))
        if depth is None:
            count = count * _times(node) + _own_work(node)
        else:
            count += 1
        if depth != 0:
            less = None if depth is None else depth - 1
            count += sum(self._visits(child, less) for key in _BELOW for child in _schemas(node, key))
            many = (child for key in _ONE_OF_MANY for child in _children(node.get(key)))
            count += max((self._visits(child, less) for child in many), default=0)
        self._counted[place] = count = min(count, _MAX_VISITS + 1)
        return count

    def _note(self, part: dict[str, Json]) -> None:
        self._refers = self._refers or any(key in part for key in _REFERENCES)
        self._has_alternatives = self._has_alternatives or any(key in part for key in _ALTERNATIVES)
        for pattern in _patterns(part):
            self.patterns += _A_PATTERN + compile_cost(pattern)
            self._goes_back = self._goes_back or search_of(pattern).looks > 0
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


def are_affordable_together(schemas: Iterable[Json]) -> bool:
    """Whether the schemas of one client can be compiled in a moment."""
    patterns = parts = 0
    for schema in schemas:
        cost = SchemaCost(schema)
        patterns += cost.patterns
        parts += cost.parts
        if patterns > _MAX_PATTERNS or parts > _MAX_PARTS:
            return False
    return True


def _own_work(node: dict[str, Json]) -> int:
    """How much there is to look at in one part of a schema, beside other parts."""
    named = sum(len(json_object(node.get(key))) for key in ("properties", "dependentRequired"))
    listed = node.get("enum")
    choices = len(cast("list[Json]", listed)) // 8 if isinstance(listed, list) else 0
    return 1 + named + choices


def _times(node: dict[str, Json]) -> int:
    """How often what is beside a part is looked at."""
    return _REPEATED if any(key in node for key in _UNEVALUATED) else 1


def _searches(*patterns: Json) -> list[Search]:
    return [search_of(pattern) for pattern in patterns if isinstance(pattern, str)]


def _patterns(node: dict[str, Json]) -> list[str]:
    own = node.get("pattern")
    return [*([own] if isinstance(own, str) else ()), *json_object(node.get("patternProperties"))]


def _size_of(value: Json, enough: int) -> int:
    """How many places a value has; it stops counting beyond enough."""
    size, waiting = 0, [value]
    while waiting and size <= enough:
        part = waiting.pop()
        size += 1
        if isinstance(part, str):
            size += len(part) // CHARS_A_PLACE
        elif isinstance(part, dict):
            names = cast("dict[str, Json]", part)
            size += sum(map(len, names)) // CHARS_A_PLACE
            waiting += names.values()
        elif isinstance(part, list):
            waiting += cast("list[Json]", part)
    return size


def _depth_of(value: Json) -> int:
    """How many levels a value has below its first."""
    depth, level = -1, [value]
    while level:
        depth += 1
        level = [below for each in level for below in _children(each)]
    return depth


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
