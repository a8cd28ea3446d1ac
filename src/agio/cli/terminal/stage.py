"""The stage of a terminal: what is still changing is drawn at the bottom, what is done scrolls away."""

from typing import Literal, TypeAlias

from msgspec import Struct
from rich.console import Console
from rich.text import Text

from agio.cli.terminal.canvas import Canvas, Line
from agio.cli.terminal.cards import draw_card, draw_ending, draw_remark, draw_thought, spinner
from agio.cli.terminal.markdown import MarkdownText
from agio.cli.terminal.view import Card, Ending, Level, Thought

_Kind: TypeAlias = Literal["text", "aside"]


class _Item(Struct):
    """Something shown: a piece of the answer, a thought, a card, or lines that are ready."""

    content: MarkdownText | Thought | Card | list[Line]
    done: bool = False

    @property
    def kind(self) -> _Kind:
        return "text" if isinstance(self.content, MarkdownText) else "aside"


class TerminalStage:
    """Shows runs with rich. The newest turn stays in the live part while it fits, so that it can be discarded."""

    def __init__(self, console: Console) -> None:
        self.show_reasoning = False
        self._console = console
        self._canvas = Canvas(console)
        self._items: list[_Item] = []
        self._above: _Kind | None = None
        self._scrolled = False
        self._running = False
        self._dirty = False

    def begin(self) -> None:
        """A run begins."""
        self._running, self._dirty, self._above = True, True, "text"

    def user(self, text: str) -> None:
        """Show a user message."""
        lines = self._canvas.lines(Text.assemble(("> ", "bold cyan"), (text, "bold")))
        self._keep([[], *lines])
        self._above = "text"

    def think(self, thought: Thought) -> None:
        """Show a thought that has grown, or begun."""
        if not self._items or self._items[-1].content is not thought:
            self._add(_Item(thought))
        self._dirty = True

    def write(self, text: str) -> None:
        """Show more of the answer."""
        last = self._items[-1].content if self._items else None
        if not isinstance(last, MarkdownText) or self._items[-1].done:
            last = MarkdownText(self._canvas)
            self._add(_Item(last))
        last.write(text)
        self._dirty = True

    def call(self, card: Card) -> None:
        """Show a tool call that has begun, changed or ended."""
        item = next((item for item in self._items if item.content is card), None)
        if item is None:
            item = _Item(card)
            self._add(item)
        item.done = card.state != "running"
        self._dirty = True

    def remark(self, level: Level, text: str) -> None:
        """Show a line beside the answer."""
        self._add(_Item(self._canvas.lines(draw_remark(level, text)), done=True))

    def settle(self) -> None:
        """Keep what was shown so far."""
        self._scrolled = False
        for item in self._items:
            if not isinstance(item.content, Card):
                self._end_item(item)
        kept: list[Line] = []
        while self._items and self._items[0].done:
            kept += self._spaced(self._items.pop(0))
        if kept:
            self._keep(kept)

    def discard(self) -> None:
        """Discard what was shown since the last `settle`, with a warning."""
        remarks = [item for item in self._items if isinstance(item.content, list)]
        self._items = remarks
        rest = "ignore the partial answer above" if self._scrolled else "the partial answer was discarded"
        self._scrolled = False
        self.remark("warning", f"The stream dropped: {rest}.")

    def end(self, ending: Ending) -> None:
        """Show how the run ended."""
        for item in self._items:
            self._end_item(item)
        self._running = False
        self.settle()
        self._keep([[], *self._canvas.lines(draw_ending(ending)), []])

    def tick(self) -> None:
        """Draw again if something has changed or moves."""
        if not self._running and not self._dirty:
            return
        self._dirty = False
        live = self._live()
        kept = self._overflow(live)
        self._canvas.draw(self._live() if kept else live, kept)

    def close(self) -> None:
        """Restore the screen."""
        self._running = False
        for item in self._items:
            self._end_item(item)
        self.settle()
        self._canvas.draw([])

    def _add(self, item: _Item) -> None:
        if self._items and not isinstance(self._items[-1].content, Card):
            self._end_item(self._items[-1])
        self._items.append(item)
        self._dirty = True

    def _end_item(self, item: _Item) -> None:
        item.done = True
        if isinstance(item.content, MarkdownText):
            item.content.finish()

    def _keep(self, lines: list[Line]) -> None:
        self._canvas.draw(self._live(), lines)

    def _overflow(self, live: list[Line]) -> list[Line]:
        """Return the lines that must scroll away to leave room for what is new."""
        kept: list[Line] = []
        if len(live) <= self._canvas.height // 2:
            return kept
        while len(self._items) > 1 and self._items[0].done:
            kept += self._spaced(self._items.pop(0))
        first = self._items[0].content if self._items else None
        if isinstance(first, MarkdownText):
            begun = first.taken
            lines = first.take()
            if lines:
                gap: list[Line] = [[]] if begun or self._above is not None else []
                kept += [*gap, *lines]
                self._above = "text"
        self._scrolled = self._scrolled or bool(kept)
        return kept

    def _live(self) -> list[Line]:
        above, lines = self._above, list[Line]()
        for item in self._items:
            lines += _with_gap(above, item.kind, self._draw(item))
            above = item.kind
        if self._running and not any(not item.done for item in self._items):
            wait = self._canvas.lines(
                Text.assemble((f"{spinner()} ", "cyan"), ("waiting for the model", "dim"))
            )
            lines += _with_gap(above, "aside", wait)
        return lines

    def _spaced(self, item: _Item) -> list[Line]:
        lines = self._draw(item)
        if not lines:
            return []
        lines = _with_gap(self._above, item.kind, lines)
        self._above = item.kind
        return lines

    def _draw(self, item: _Item) -> list[Line]:
        match item.content:
            case MarkdownText():
                return item.content.lines()
            case Thought():
                shown = draw_thought(item.content, done=item.done, full=self.show_reasoning)
                return self._canvas.lines(shown)
            case Card():
                return self._canvas.lines(draw_card(item.content))
            case _:
                return item.content


def _with_gap(above: _Kind | None, kind: _Kind, lines: list[Line]) -> list[Line]:
    """Put a blank line between the answer and what is beside it."""
    gap = above is not None and "text" in (above, kind)
    return [[], *lines] if gap and lines else lines
