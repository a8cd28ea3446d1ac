"""Patterns of untrusted schemas, searched by a regex engine without lookaround in time linear in the text.

A pattern that this engine cannot compile, or whose compiled form is too large, is not checked.
"""

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar
from weakref import proxy

from agio.core.schema.weighed_cache import WeighedCache
from agio.protocol.messages import Json, json_object

if TYPE_CHECKING:
    from jsonschema_rs import Validator

KEYWORD = "agio-pattern"
"""Replaces `pattern` in a schema before it is compiled."""
SMALL_BYTES = 1024
"""The compiled size of a small pattern, which costs nanoseconds per character. Property names use only these."""
_LARGE_BYTES = 256 * 1024
_MAX_CHARS = 500
_MAX_PATTERNS = 32
"""How many patterns of a schema are checked. Each takes up to two milliseconds to compile."""
_LONG_TEXT = 4_000
"""The longest text for a large pattern, which may cost microseconds per character."""
_CHECK_S = 0.05
"""The CPU time that the patterns of a schema may take for one value."""
_FLAGS = re.compile(r"\(\?[A-Za-z-]+[:)]")
"""Inline flags are refused: ECMA 262 has none, and ignoring case is slow to compile."""


_KEPT_BYTES = 16 * 1024 * 1024
"""How much memory the compiled patterns of all schemas may take together."""


@dataclass(frozen=True, slots=True)
class _Compiled:
    search: "Validator"
    is_small: bool

    @property
    def size_bytes(self) -> int:
        """About how much memory it takes: the engine needs more than the compiled pattern."""
        return 8 * SMALL_BYTES if self.is_small else _LARGE_BYTES


class Patterns:
    """The patterns of one schema, and their time budget for the current value."""

    def __init__(self) -> None:
        self.left_out: list[str] = []
        """The patterns that are not checked."""
        self.is_over = False
        """Whether the value exceeded the limits on text length or time."""
        # A class is freed by the garbage collector alone; the patterns, which may take megabytes, go before it.
        self.keyword: type[PatternKeyword] = type("Keyword", (PatternKeyword,), {"patterns": proxy(self)})
        self._until = 0.0
        self._known: dict[str, _Compiled | None] = {}

    def start(self) -> None:
        """Reset the time budget for a new value."""
        self.is_over, self._until = False, time.thread_time() + _CHECK_S

    def take(self, part: dict[str, Json]) -> dict[str, Json]:
        """Register the patterns of a subschema, and replace them with the keyword checked here."""
        if isinstance(pattern := part.get("pattern"), str):
            self._add(pattern)
            part[KEYWORD] = part.pop("pattern")
        if "patternProperties" in part:
            named = json_object(part["patternProperties"])
            kept = {name: below for name, below in named.items() if self._add(name, is_name=True)}
            if len(kept) < len(named):  # any other name may match an unchecked pattern
                part["patternProperties"] = {**kept, "": kept.get("", {})}
        return part

    @property
    def size_bytes(self) -> int:
        """About how much memory the compiled patterns take."""
        return sum(found.size_bytes for found in self._known.values() if found is not None)

    def fits(self, pattern: str, text: str) -> bool:
        """Whether the pattern matches in the text. False once a limit is exceeded; True for an unknown pattern."""
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
    """The `pattern` keyword for the validator. An unchecked pattern always matches, and never matches below `not`."""

    patterns: ClassVar[Patterns]

    def __init__(self, parent_schema: Json, value: str, schema_path: list[str | int]) -> None:
        self._pattern = value
        self._is_against = value in self.patterns.left_out and schema_path.count("not") % 2 == 1

    def validate(self, instance: Json) -> None:
        """Check a string. Raises ValueError if it does not match."""
        if isinstance(instance, str) and (
            self._is_against or not self.patterns.fits(self._pattern, instance)
        ):
            raise ValueError(f'"{instance}" does not match "{self._pattern}"')


def _compile(pattern: str) -> _Compiled | None:
    """Compile a pattern. Return None if it is refused or too large."""
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


_compiled = WeighedCache(_compile, lambda found: 0 if found is None else found.size_bytes, _KEPT_BYTES)
