"""New ids for a copy: whatever names something that was copied names the copy.

Ids of ours end with 26 random characters, and the ids of a run's messages, calls and results have the run's. So they
are told apart from any other text, and replaced where they stand, in bytes that are not decoded.
"""

import re
from collections.abc import Iterable

from agio.protocol.ids import new_id

_BODY = re.compile(rb"_([0-9a-hjkmnp-tv-z]{26})(?![0-9a-z])")


class Renaming:
    """The ids that change, and what they become. An id that somebody else made up stays."""

    def __init__(self, ids: Iterable[str]) -> None:
        bodies = {body for given in ids for body in _BODY.findall(given.encode("utf-8", "surrogatepass"))}
        self._new = {body: new_id("").encode() for body in bodies}

    def add(self, old: str, new: str) -> None:
        """Let one id become another of our making."""
        for body in _BODY.findall(old.encode("utf-8", "surrogatepass")):
            self._new[body] = b"_" + new.rpartition("_")[2].encode()

    def renamed(self, data: bytes) -> bytes:
        """The same, with the new ids."""
        return _BODY.sub(self._replaced, data)

    def renamed_text(self, text: str) -> str:
        """The same, with the new ids."""
        return self.renamed(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def _replaced(self, found: re.Match[bytes]) -> bytes:
        return self._new.get(found[1], found[0])
