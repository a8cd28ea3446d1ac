"""Lists of runs and of what their steps cost, as tables."""

import time
from collections.abc import Mapping, Sequence
from datetime import datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from agio.cli.terminal.cards import STATUS_STYLES
from agio.cli.terminal.view import printable, seconds
from agio.core.store.repository import RunInfo
from agio.protocol.messages import Json

_WIDE = 120
_SHORT_ID = 8
_SHORTEST_TITLE = 8
_GAP = 2
_COLUMNS = ("RUN", "AGENT", "MODEL", "STATUS", "STARTED", "TOOK", "EVENTS", "TITLE")


def runs_table(runs: Sequence[RunInfo], console: Console) -> Table:
    """A row a run. A narrow terminal gets the end of the id, which names the run as well, and shorter times."""
    wide = console.width >= _WIDE
    table = new_table()
    rows = [_row(info, wide) for info in runs]
    widths = [
        max(len(name), *(cell.cell_len for cell in cells))
        for name, cells in zip(_COLUMNS, zip(*rows, strict=True), strict=True)
    ]
    room = max(_SHORTEST_TITLE, console.width - sum(widths[:-1]) - _GAP * (len(widths) - 1))
    for name in _COLUMNS:
        table.add_column(name, no_wrap=True, justify="right" if name in ("TOOK", "EVENTS") else "left")
    for row in rows:
        row[-1].truncate(room, overflow="ellipsis")
        table.add_row(*row)
    return table


def _row(info: RunInfo, wide: bool) -> list[Text]:
    model = Text(printable(info.model))
    model.truncate(24 if wide else 14, overflow="ellipsis")
    return [
        Text(info.run_id if wide else info.run_id[-_SHORT_ID:]),
        Text(printable(info.agent)),
        model,
        Text(info.status, STATUS_STYLES[info.status]),
        Text(started(info) if wide else ago(info.created_at)),
        Text(took(info)),
        Text(str(info.last_seq)),
        _title(info),
    ]


def _title(info: RunInfo) -> Text:
    title = Text(printable(" ".join(info.title.split())) or "-")
    return title if info.copied_from is None else Text.assemble(("copy ", "dim"), title)


def new_table() -> Table:
    """A table without lines."""
    return Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="dim")


def steps_table(steps: Sequence[Mapping[str, Json]]) -> Table:
    """A row a step, and its figures."""
    table = new_table()
    columns = ["STEP", "IN", "OUT", "CACHED", "REASONING", "FIRST TOKEN", "MODEL", "TOOLS", "COST"]
    for column in columns:
        table.add_column(column, no_wrap=True, justify="right")
    for step in steps:
        cost = step.get("cost")
        table.add_row(
            str(step.get("step", "all")),
            *(str(step.get(f"{key}_tokens", "")) for key in ("input", "output", "cached_input", "reasoning")),
            *(_time(step.get(f"{key}_ms")) for key in ("first_token", "model", "tool")),
            f"{cost:.4g}" if isinstance(cost, (int, float)) else "-",
        )
    return table


def _time(value: Json) -> str:
    return seconds(value) if isinstance(value, (int, float)) else "-"


def took(info: RunInfo) -> str:
    """How long a run took, or that it has not ended."""
    return "-" if info.ended_at is None else seconds(info.ended_at - info.created_at)


def started(info: RunInfo) -> str:
    """When a run began, in local time, and how long ago that is."""
    moment = datetime.fromtimestamp(info.created_at / 1000)
    today = moment.date() == datetime.now().date()
    return f"{moment:%H:%M}, {ago(info.created_at)}" if today else f"{moment:%Y-%m-%d %H:%M}"


def ago(milliseconds: int) -> str:
    """How long ago something was."""
    passed = max(0, time.time() - milliseconds / 1000)
    for size, name in ((86_400, "day"), (3600, "h"), (60, "min")):
        if passed >= size:
            count = int(passed // size)
            return f"{count} {name}{'s' if name == 'day' and count > 1 else ''} ago"
    return "just now"
