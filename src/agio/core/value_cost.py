"""How much work it is to check one value against a schema: both are walked together, a text counts where it is."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import cast

from agio.core.pattern_cost import CHARS_A_PLACE, Search
from agio.protocol.messages import Json

_MAX_STEPS = 400_000
"""How many places are walked to: about a second."""
_CONTAINER = 3
"""What a list or an object counts as among them."""


class TooMuch(Exception):
    """The work is more than there may be."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a schema, sorted by what it is for."""

    visits: int
    """At most how many parts are looked at for one place."""
    own: int
    times: int
    """How often what is beside it is looked at again."""
    is_plain: bool
    """Whether there is nothing beside it for a text, and no pattern."""
    patterns: list[Search]
    name_patterns: list[Search]
    beside: list[Json]
    alternatives: list[Json]
    targets: list[list[Json]]
    properties: dict[str, Json]
    first_items: list[Json]
    below: list[Json]
    """For each item or property there is."""
    other_properties: list[Json]
    other_items: list[Json]
    names: list[Json]


class ValueCost:
    """Counts the work of one value. Raises TooMuch."""

    def __init__(self, part_of: Callable[[Json], Part], most: int) -> None:
        self.alternatives = 0
        """The most work there is for the alternatives of one place."""
        self._part_of = part_of
        self._most = most
        self._steps = 0
        self._known: dict[tuple[int, int], int] = {}

    def work(self, schema: Json, value: Json) -> int:
        """Count what is looked at for a value and what is in it."""
        part = self._part_of(schema)
        if (small := self._small(part, value)) is not None:
            return small
        place = (id(schema), id(value))
        if (known := self._known.get(place)) is not None:
            return known
        self._steps += 1 if isinstance(value, str) else _CONTAINER
        if self._steps > _MAX_STEPS:
            raise TooMuch
        self._known[place] = 1  # a reference that comes back to the same place is looked at once
        count = self._all((each, value) for each in part.beside)
        if part.alternatives:
            chosen = self._all((each, value) for each in part.alternatives)
            self.alternatives = max(self.alternatives, chosen)
            count += chosen
        for targets in part.targets:
            count += max(self.work(target, value) for target in targets)
        count = count * part.times + part.own + self._inside(part, value)
        if count > self._most:
            raise TooMuch
        self._known[place] = count
        return count

    def _small(self, part: Part, value: Json) -> int | None:
        """Count what needs no walk: numbers, and texts without patterns."""
        if isinstance(value, str):
            return part.own + len(value) // CHARS_A_PLACE if part.is_plain else None
        if isinstance(value, (dict, list)):
            return None
        self.alternatives = max(self.alternatives, part.visits)
        return part.visits

    def _inside(self, part: Part, value: Json) -> int:
        if isinstance(value, str):
            searches = sum(search.work_in(len(value)) for search in part.patterns)
            return searches + len(value) // CHARS_A_PLACE
        if isinstance(value, dict):
            return self._object(part, cast("dict[str, Json]", value))
        return self._array(part, cast("list[Json]", value))

    def _object(self, part: Part, value: dict[str, Json]) -> int:
        count = 0
        looking = [search for search in part.name_patterns if search.looks]
        plain = len(part.name_patterns) - len(looking)
        for name in value if part.name_patterns else ():
            count += plain * (1 + len(name) // CHARS_A_PLACE)
            count += sum(search.work_in(len(name)) for search in looking)
            self._steps += len(looking)
            if count > self._most or self._steps > _MAX_STEPS:
                raise TooMuch
        count += self._all((schema, name) for schema in part.names for name in value)
        count += self._all((schema, each) for schema in part.below for each in value.values())
        known = part.properties
        count += self._all((known[name], each) for name, each in value.items() if name in known)
        others = part.other_properties
        return count + self._all(
            (schema, each) for schema in others for name, each in value.items() if name not in known
        )

    def _array(self, part: Part, value: list[Json]) -> int:
        count = self._all((schema, each) for schema in part.below for each in value)
        first = part.first_items
        count += self._all(zip(first, value, strict=False))
        return count + self._all(
            (schema, value[at]) for schema in part.other_items for at in range(len(first), len(value))
        )

    def _all(self, places: Iterable[tuple[Json, Json]]) -> int:
        count = 0
        for schema, value in places:
            count += self.work(schema, value)
            if count > self._most:
                raise TooMuch
        return count
