"""The bottom of the terminal, drawn again and again without flicker; above it, lines that stay.

Lines are overwritten in place and never blanked first, and a drawing is one write.
"""

from collections.abc import Iterable
from typing import TypeAlias

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.style import Style

Line: TypeAlias = list[Segment]

_TO_END_OF_LINE = "\x1b[K"
_TO_END_OF_SCREEN = "\x1b[J"
_HIDE_CURSOR, _SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
_BEGIN_FRAME, _END_FRAME = "\x1b[?2026h", "\x1b[?2026l"


class Canvas:
    """Draws `live` lines at the bottom and prints `kept` lines above them for good."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._height = 0

    @property
    def width(self) -> int:
        """How wide a line may be: a full one would leave the cursor in doubt."""
        return max(10, self._console.width - 1)

    @property
    def height(self) -> int:
        """How many lines may be live."""
        return max(3, self._console.height - 2)

    def lines(self, renderable: RenderableType) -> list[Line]:
        """Render something to lines, without blank ones around it and blanks at their ends."""
        options = self._console.options.update(width=self.width)
        lines = [_stripped(line) for line in self._console.render_lines(renderable, options, pad=False)]
        while lines and not lines[0]:
            lines.pop(0)
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def draw(self, live: list[Line], kept: Iterable[Line] = ()) -> None:
        """Print `kept` above what is live, and replace what was live."""
        live = live[-self.height :]
        up = f"\x1b[{self._height - 1}A" if self._height > 1 else ""
        text = [_BEGIN_FRAME, _HIDE_CURSOR if live else "", "\r", up]
        text += [f"{self._ansi(line)}{_TO_END_OF_LINE}\n" for line in kept]
        text.append(f"{_TO_END_OF_LINE}\n".join(self._ansi(line) for line in live))
        text += [_TO_END_OF_SCREEN, "" if live else _SHOW_CURSOR, _END_FRAME]
        self._height = len(live)
        self._console.file.write("".join(text))
        self._console.file.flush()

    def _ansi(self, line: Line) -> str:
        with self._console.capture() as capture:
            self._console.print(_Strip(line), end="")
        return capture.get()


class _Strip:
    """A rendered line as something that can be printed."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from self._line


def _stripped(line: Line) -> Line:
    """Take off blanks at the end that have no background."""
    line = list(line)
    while line:
        text, style, _ = line[-1]
        if _has_background(style):
            return line
        rest = text.rstrip(" \n")
        if rest == text:
            return line
        line.pop()
        if rest:
            line.append(Segment(rest, style))
    return line


def _has_background(style: Style | None) -> bool:
    return style is not None and bool(style.bgcolor or style.underline or style.reverse)
