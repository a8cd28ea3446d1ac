"""Markdown that is still being written: finished blocks are drawn once, only the last one again and again."""

from functools import cache
from typing import ClassVar

from markdown_it import MarkdownIt
from msgspec import Struct
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement
from rich.syntax import Syntax

from agio.cli.terminal.canvas import Canvas, Line

_CODE_THEME = "ansi_dark"
_FENCES = ("```", "~~~")


class MarkdownText:
    """An answer that grows. `lines` draws all of it that is left, `take` gives its finished beginning away."""

    def __init__(self, canvas: Canvas) -> None:
        self._canvas = canvas
        self._blocks: list[_Block] = []
        self._open = ""
        self.taken = False
        """Whether something was given away."""

    def write(self, text: str) -> None:
        """Add text."""
        self._open += text

    def finish(self) -> None:
        """Say that the last block has ended, too."""
        if self._open.strip():
            self._blocks.append(_Block(self._open))
        self._open = ""

    def lines(self) -> list[Line]:
        """Draw what is left, a blank line between blocks."""
        self._close_blocks()
        lines: list[Line] = []
        for block in self._blocks:
            lines += [[], *block.draw(self._canvas)] if lines else block.draw(self._canvas)
        if self._open.strip():
            last = _draw(self._canvas, _tail(self._open, 2 * self._canvas.height))
            lines += [[], *last] if lines else last
        return lines

    def take(self) -> list[Line]:
        """Return the lines of the finished blocks and forget them."""
        self._close_blocks()
        lines: list[Line] = []
        for block in self._blocks:
            lines += [[], *block.draw(self._canvas)] if lines else block.draw(self._canvas)
        self._blocks = []
        self.taken = self.taken or bool(lines)
        return lines

    def _close_blocks(self) -> None:
        if "\n" not in self._open:
            return
        starts = [
            token.map[0]
            for token in _parser().parse(self._open)
            if token.level == 0 and token.map is not None and token.nesting >= 0
        ]
        if len(starts) < 2:
            return
        rows = self._open.splitlines(keepends=True)
        ends = [*starts[1:]]
        for start, end in zip(starts[:-1], ends, strict=True):
            self._blocks.append(_Block("".join(rows[start:end])))
        self._open = "".join(rows[starts[-1] :])


class _Block(Struct):
    source: str
    drawn: list[Line] | None = None
    width: int = 0

    def draw(self, canvas: Canvas) -> list[Line]:
        if self.drawn is None or self.width != canvas.width:
            self.drawn, self.width = _draw(canvas, self.source), canvas.width
        return self.drawn


class _LeftHeading(Heading):
    """A heading at the left margin, without a frame."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield self.text


class _IndentedCode(CodeBlock):
    """Code in the colours of the terminal, indented, with nothing around it to copy by mistake."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        yield Syntax(code, self.lexer_name, theme=self.theme, word_wrap=True, padding=(0, 2))


class AnswerMarkdown(Markdown):
    """Markdown as answers look: in the colours of the terminal, links spelled out."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _LeftHeading,
        "fence": _IndentedCode,
        "code_block": _IndentedCode,
    }


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt().enable("strikethrough").enable("table")


def _draw(canvas: Canvas, source: str) -> list[Line]:
    return canvas.lines(AnswerMarkdown(source, code_theme=_CODE_THEME, hyperlinks=False))


def _tail(source: str, rows: int) -> str:
    """Return the end of a long block: more of it than fits on the screen is not worth drawing."""
    lines = source.splitlines(keepends=True)
    if len(lines) <= rows:
        return source
    opening = lines[0] if lines[0].lstrip().startswith(_FENCES) else ""
    return opening + "".join(lines[-rows:])
