"""How tool cards, thoughts, remarks and failures look in a terminal."""

import time

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from agio.cli.terminal.view import Card, Ending, Level, Thought, spaced_json, visible

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_BAR = 20
_SHORT_ROWS = 8
_SHORT_CHARACTERS = 600
_MARKS = {"done": ("✓", "green"), "failed": ("✗", "red"), "waiting": ("?", "bold yellow")}
_NOT_RUN = {"cancelled": "cancelled", "not_approved": "not approved", "not_run": "not run"}
STATUS_STYLES = {
    "running": "cyan",
    "completed": "green",
    "failed": "bold red",
    "cancelled": "yellow",
    "interrupted": "magenta",
}


def spinner() -> str:
    """Return the picture of now."""
    return _FRAMES[int(time.monotonic() * 10) % len(_FRAMES)]


def draw_card(card: Card, *, full: bool = False) -> RenderableType:
    """A tool call: its name and state, its arguments, its result. Long ones are cut unless `full`."""
    mark, style = _MARKS.get(card.state, (spinner(), "cyan"))
    if card.error in _NOT_RUN:
        mark, style = "-", "yellow"
    head = Text.assemble((f"{mark} ", style), (card.name, "bold"))
    for note, note_style in _notes(card):
        head.append("  ").append(note, note_style)
    full = full or card.state == "waiting"
    body: list[RenderableType] = [head]
    arguments = card.arguments.strip() or "{}"
    if card.arguments or card.state == "waiting":
        body.append(_indented(visible(spaced_json(arguments, indented=full)), "cyan", full))
    if card.result:
        body.append(_indented(f"→ {card.result}", "red" if card.state == "failed" else "", full))
    return Group(*body)


def _notes(card: Card) -> list[tuple[str, str]]:
    notes: list[tuple[str, str]] = []
    if card.error:
        notes.append(
            (
                _NOT_RUN.get(card.error, f"failed [{card.error}]"),
                "red" if card.error not in _NOT_RUN else "yellow",
            )
        )
    if card.state == "waiting":
        notes.append(("needs your approval", "yellow"))
    if card.state == "running":
        if card.fraction is not None:
            full = round(card.fraction * _BAR)
            notes.append(("━" * full + "─" * (_BAR - full) + f" {card.fraction:.0%}", "cyan"))
        notes.append((card.progress or "running", "dim"))
    elif card.duration:
        notes.append((card.duration, "dim"))
    return notes


def _indented(text: str, style: str, full: bool) -> RenderableType:
    shown = text if full else shortened(text)
    return Padding(Text(shown, style, overflow="fold"), (0, 0, 0, 2))


def shortened(text: str) -> str:
    """Cut a long text and say so."""
    rows = text.split("\n")
    short = "\n".join(rows[:_SHORT_ROWS])[:_SHORT_CHARACTERS]
    left = len(text) - len(short)
    return f"{short} … ({left} more characters: agio runs show)" if left else short


def draw_thought(thought: Thought, *, done: bool, full: bool) -> RenderableType:
    """A thought: one dim line, or all of it."""
    if done:
        head = Text(f"  thought for {thought.summary}", "dim")
    else:
        head = Text.assemble((f"{spinner()} ", "cyan"), (f"thinking, {thought.summary}", "dim"))
    if not full:
        return head
    return Group(head, Padding(Text(thought.text.strip(), "dim italic"), (0, 0, 0, 2)))


def draw_remark(level: Level, text: str) -> RenderableType:
    """A remark beside the answer."""
    style = "yellow" if level == "warning" else "dim"
    grid = Table.grid(padding=0)
    grid.add_row(Text("! " if level == "warning" else "  ", style), Text(text, style, overflow="fold"))
    return grid


def draw_failure(ending: Ending) -> RenderableType:
    """What went wrong, its code, and what to do about it."""
    return Panel(
        Group(Text(ending.message, overflow="fold"), Text(ending.advice, "dim", overflow="fold")),
        title=Text(f"failed: {visible(ending.code) or 'unknown'}"),
        title_align="left",
        border_style="red",
        padding=(0, 1),
    )


def draw_ending(ending: Ending) -> RenderableType:
    """How a run ended: its footer, and before it what went wrong."""
    word = {"cancelled": "cancelled", "interrupted": "waits for an answer"}.get(ending.status, "")
    parts = [part for part in ((word, "yellow"), (ending.footer, "dim")) if part[0]]
    line = Text("  ") + Text(" · ", "dim").join(Text(text, style) for text, style in parts)
    return Group(draw_failure(ending), line) if ending.status == "failed" else line
