"""Lists of runs and of what their steps cost, as tables."""

import time
from collections.abc import Mapping, Sequence
from datetime import datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from agio.cli.cards import STATUS_STYLES
from agio.cli.view import printable, seconds
from agio.core.repository import RunInfo
from agio.protocol.messages import Json

_WIDE = 120
_SHORT_ID = 8


def runs_table(runs: Sequence[RunInfo], console: Console) -> Table:
    """A row a run. A narrow terminal gets the end of the id, which names the run as well, and shorter times."""
    wide = console.width >= _WIDE
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("RUN", no_wrap=True)
    table.add_column("AGENT", no_wrap=True, max_width=16)
    table.add_column("MODEL", no_wrap=True, max_width=24 if wide else 14)
    table.add_column("STATUS", no_wrap=True)
    table.add_column("STARTED", no_wrap=True)
    table.add_column("TOOK", no_wrap=True, justify="right")
    table.add_column("EVENTS", no_wrap=True, justify="right")
    table.add_column("TITLE", no_wrap=True, overflow="ellipsis")
    for info in runs:
        table.add_row(
            info.run_id if wide else info.run_id[-_SHORT_ID:],
            Text(printable(info.agent)),
            Text(printable(info.model)),
            Text(info.status, STATUS_STYLES[info.status]),
            started(info) if wide else ago(info.created_at),
            took(info),
            str(info.last_seq),
            Text(printable(" ".join(info.title.split()))),
        )
    return table


def steps_table(steps: Sequence[Mapping[str, Json]]) -> Table:
    """A row a step, and its figures."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    columns = ["STEP", "IN", "OUT", "CACHED", "REASONING", "FIRST TOKEN", "MODEL", "TOOLS", "COST"]
    for column in columns:
        table.add_column(column, no_wrap=True, justify="right")
    for step in steps:
        cost = step.get("cost")
        table.add_row(
            str(step.get("step", "all")),
            *(str(step.get(f"{key}Tokens", "")) for key in ("input", "output", "cachedInput", "reasoning")),
            *(_time(step.get(f"{key}Ms")) for key in ("firstToken", "model", "tool")),
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
