"""Patterns of schemas from outside: an engine without lookaround searches them, in time linear in the text.

A pattern that this engine cannot compile, or only to something large, is left out of the check.
"""

import re
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from agio.protocol.messages import Json, json_object

if TYPE_CHECKING:
    from jsonschema_rs import Validator

KEYWORD = "agio-pattern"
"""Stands for `pattern` in a schema that is ready to be compiled."""
SMALL_BYTES = 1024
"""The compiled size of a small pattern: a character costs it nanoseconds. For property names only these are used."""
_LARGE_BYTES = 256 * 1024
_MAX_CHARS = 500
_MAX_PATTERNS = 32
"""How many patterns of a schema are checked: each takes up to two milliseconds to compile."""
_LONG_TEXT = 4_000
"""In how many characters a large pattern is searched: each may cost it microseconds."""
_CHECK_S = 0.05
"""How much processor time the patterns of a schema may take for one value."""
_FLAGS = re.compile(r"\(\?[A-Za-z-]+[:)]")
"""Flags within a pattern: ECMA 262 has none, and to ignore case takes long to compile."""


@dataclass(frozen=True, slots=True)
class _Compiled:
    search: "Validator"
    is_small: bool


class Patterns:
    """The patterns of one schema, and the time they still have for the value that is checked."""

    def __init__(self) -> None:
        self.left_out: list[str] = []
        """Those that are not checked."""
        self.is_over = False
        """Whether the value was too large for them."""
        self.keyword: type[PatternKeyword] = type("Keyword", (PatternKeyword,), {"patterns": self})
        self._until = 0.0
        self._known: dict[str, _Compiled | None] = {}

    def start(self) -> None:
        """Begin with another value."""
        self.is_over, self._until = False, time.thread_time() + _CHECK_S

    def take(self, part: dict[str, Json]) -> dict[str, Json]:
        """Take over the patterns of one part of a schema."""
        if isinstance(pattern := part.get("pattern"), str):
            self._add(pattern)
            part[KEYWORD] = part.pop("pattern")
        if "patternProperties" in part:
            named = json_object(part["patternProperties"])
            kept = {name: below for name, below in named.items() if self._add(name, is_name=True)}
            if len(kept) < len(named):  # then any other name may be one of those left out
                part["patternProperties"] = {**kept, "": kept.get("", {})}
        return part

    def fits(self, pattern: str, text: str) -> bool:
        """Whether a text has what the pattern looks for. When the time is up, no text has."""
        found = self._known.get(pattern)
        if found is None:
            return True
        self.is_over = (
            self.is_over
            or (len(text) > _LONG_TEXT and not found.is_small)
            or time.thread_time() > self._until
        )
        return not self.is_over and found.search.is_valid(text)

    def _add(self, pattern: str, *, is_name: bool = False) -> bool:
        if pattern not in self._known and len(self._known) < _MAX_PATTERNS:
            self._known[pattern] = _compiled(pattern)
        found = self._known.get(pattern)
        is_checked = found is not None and (found.is_small or not is_name)
        if not is_checked and pattern not in self.left_out:
            self.left_out.append(pattern)
        return is_checked


class PatternKeyword:
    """The keyword `pattern` of a part of a schema, for the checker. One left out always fits, below `not` never."""

    patterns: ClassVar[Patterns]

    def __init__(self, parent_schema: Json, value: str, schema_path: list[str | int]) -> None:
        self._pattern = value
        self._is_against = value in self.patterns.left_out and schema_path.count("not") % 2 == 1

    def validate(self, instance: Json) -> None:
        """Raise ValueError for a text that does not match."""
        if isinstance(instance, str) and (
            self._is_against or not self.patterns.fits(self._pattern, instance)
        ):
            raise ValueError(f'"{instance}" does not match "{self._pattern}"')


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> _Compiled | None:
    """Compile a pattern; None if that is not possible."""
    import jsonschema_rs

    if len(pattern) > _MAX_CHARS or _FLAGS.search(pattern):
        return None
    for limit in (SMALL_BYTES, _LARGE_BYTES):
        options = jsonschema_rs.RegexOptions(size_limit=limit)
        try:
            search = jsonschema_rs.validator_for({"pattern": pattern}, pattern_options=options)
        except jsonschema_rs.ValidationError:
            continue
        return _Compiled(search, limit == SMALL_BYTES)
    return None
