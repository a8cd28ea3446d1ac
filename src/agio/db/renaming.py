"""Replaces the ids of a session by new ids in its copy.

agio's ids end with 26 random characters, and the ids of a run's messages, calls and results have the run's. They are
replaced in bytes that are not decoded, where JSON names something by its id. Text of people, models and tools
stays unchanged, also an id in it: it may be known elsewhere, and streamed deltas must join to the same text.
"""

import re
from collections.abc import Iterable

from agio.protocol.ids import new_id

_BODY = re.compile(rb"_([0-9a-hjkmnp-tv-z]{26})(?![0-9a-z])")
_NAMED = re.compile(
    # "messageId":"...", "run":"...", a file's "value":"..."; a quote within a text has a backslash before it
    rb'":(?:(?:(?<=[iI]d":)|(?<="run":)|(?<="type":"file","value":))"[^"\\]*"'
    # "pendingToolCallIds":["...","..."]
    rb'|(?<=[iI]ds":)\[(?:"[^"\\]*",?)*)'
)


class Renaming:
    """The ids that change, and their new ids. Foreign ids stay."""

    def __init__(self, ids: Iterable[str]) -> None:
        bodies = {body for given in ids for body in _BODY.findall(given.encode("utf-8", "surrogatepass"))}
        self._new = {body: new_id("").encode() for body in bodies}

    def add(self, old: str, new: str) -> None:
        """Add an id with a given new id."""
        for body in _BODY.findall(old.encode("utf-8", "surrogatepass")):
            self._new[body] = b"_" + new.rpartition("_")[2].encode()

    def renamed(self, data: bytes) -> bytes:
        """The same JSON, as agio encodes it, with the new ids."""
        return _NAMED.sub(self._named, data)

    def renamed_id(self, given: str) -> str:
        """The new id; an id that does not change is returned as it is."""
        data = given.encode("utf-8", "surrogatepass")
        return _BODY.sub(self._replaced, data).decode("utf-8", "surrogatepass")

    def _named(self, found: re.Match[bytes]) -> bytes:
        return _BODY.sub(self._replaced, found[0])

    def _replaced(self, found: re.Match[bytes]) -> bytes:
        return self._new.get(found[1], found[0])
