"""Passages: blocks gathered under their headings, split at sentences where they are long. Pages are not mixed."""

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any

from agio.core.document import PassageFields
from agio.core.text import clean
from agio.documents.block import Block, ExtractLimits, too_large

_BETWEEN = "\n\n"
_SLICE = 100_000
"""How much of a block is split at a time: one line may be megabytes long."""
_HEADING_CHARS = 300


def passages_of(blocks: Iterable[Block], limits: ExtractLimits) -> Iterator[PassageFields]:
    """Make passages of blocks. Raises UserError `document_too_large`."""
    maker = _Maker(limits)
    for block in blocks:
        yield from maker.take(block)
    yield from maker.flush()


class _Maker:
    def __init__(self, limits: ExtractLimits) -> None:
        self._limits = limits
        semchunk: Any = import_module("semchunk")
        self._split: Callable[[str], list[str]] = semchunk.chunkerify(len, limits.passage_chars)
        self._path: list[tuple[int, str]] = []
        self._held: list[str] = []
        self._size = 0
        self._place: tuple[int | None, int | None] = (None, None)
        self._idx = 0
        self._start = 0

    def take(self, block: Block) -> Iterator[PassageFields]:
        text = clean(block.text).strip("\n")
        if not text.strip():
            return
        if block.level:
            yield from self.flush()
            while self._path and self._path[-1][0] >= block.level:
                self._path.pop()
            self._path.append((block.level, " ".join(text.split())[:_HEADING_CHARS]))
            self._hold(text, block)
            return
        room = self._limits.passage_chars
        other_page = bool(self._held) and self._place[0] != block.page
        if other_page or (self._held and self._size + len(text) > room):
            only_heading = len(self._held) == 1 and self._path and self._held[0] == self._path[-1][1]
            if not only_heading or other_page:
                yield from self.flush()
        if len(text) <= room:
            self._hold(text, block)
            return
        yield from self.flush()
        line = block.line
        for first in range(0, len(text), _SLICE):
            for piece in self._split(text[first : first + _SLICE]):
                self._hold(piece, Block(piece, page=block.page, line=line))
                yield from self.flush()
                line = None if line is None else line + piece.count("\n") + 1
        return

    def _hold(self, text: str, block: Block) -> None:
        if not self._held:
            self._place = (block.page, block.line)
        self._held.append(text)
        self._size += len(text) + len(_BETWEEN)

    def flush(self) -> Iterator[PassageFields]:
        """Return what is held as a passage."""
        if not self._held:
            return
        text = _BETWEEN.join(self._held)
        self._held.clear()
        self._size = 0
        end = self._start + len(text)
        if end > self._limits.chars:
            raise too_large(f"it has more than {self._limits.chars} characters of text")
        page, line = self._place
        yield PassageFields(
            idx=self._idx,
            text=text,
            start=self._start,
            end=end,
            page=page,
            line=line,
            heading=" > ".join(title for _, title in self._path)[:_HEADING_CHARS],
        )
        self._idx += 1
        self._start = end + len(_BETWEEN)
