"""`agio runs`: list, show and replay runs, read from a store (even while it is written) or from a server."""

import sys
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from rich.console import Console
from rich.text import Text

from agio.cli.client.lookup import find_run
from agio.cli.terminal.cards import STATUS_STYLES, draw_card, draw_failure
from agio.cli.terminal.markdown import AnswerMarkdown
from agio.cli.terminal.output import make_console, make_stage
from agio.cli.terminal.plain import PlainStage
from agio.cli.terminal.player import LONGEST_GAP_S, play
from agio.cli.terminal.render import EventRenderer
from agio.cli.terminal.tables import runs_table, started, steps_table, took
from agio.cli.terminal.view import printable, readable
from agio.core.run.fold import fold_log
from agio.core.run.session_history import RunLogs, session_history
from agio.core.store.repository import RunInfo
from agio.db.repository import open_store
from agio.protocol.messages import AssistantMessage, Message, ReasoningMessage, ToolMessage, UserMessage

if TYPE_CHECKING:
    from agio.cli.client.server_client import ServerClient

_PRIVATE = ("mark", "first_pos")
_PAGE_WIDTH = 100


def opened_runs(store: Path, server: str | None, api_key: str | None) -> AbstractAsyncContextManager[RunLogs]:
    """Return the runs of a server if one is named, else of the store. Raises UserError, StoreError."""
    if server is None:
        return _stored(store)
    from agio.cli.client.server_client import ServerClient

    return _asked(ServerClient(server, api_key))


async def list_runs(
    opened: AbstractAsyncContextManager[RunLogs] | None,
    *,
    agent: str | None,
    thread: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """Print the newest runs as a table or as JSON lines; `opened` is None without a store. Raises AgioError."""
    runs: list[RunInfo] = []
    if opened is not None:
        async with opened as logs:
            runs = await logs.list_runs(agent=agent, session_id=thread, limit=limit)
    if as_json:
        for info in runs:
            fields = {
                key: value for key, value in msgspec.structs.asdict(info).items() if key not in _PRIVATE
            }
            print(msgspec.json.encode(fields).decode())
        return
    console = make_console()
    if runs:
        console.print(runs_table(runs, console))
    elif agent or thread:
        console.print("No run matches. List all runs: agio runs list", markup=False)
    else:
        console.print('There are no runs yet. Start one: echo "what is 6 * 7?" | agio chat', markup=False)


async def show_run(opened: AbstractAsyncContextManager[RunLogs], name: str) -> None:
    """Print a run's messages, tool calls and cost. Raises AgioError."""
    async with opened as repository:
        info = await find_run(repository, name)
        fold = await session_history(repository, info.session_id, info)
        log = await repository.get_log(info.run_id)
    console = make_console()
    if not console.is_terminal:
        console.width = _PAGE_WIDTH
    renderer = EventRenderer(PlainStage(StringIO(), live=False))
    renderer.expect(fold.open_calls, fold.interrupts.values())
    answered = {call.id for call in fold.open_calls}
    for event in log.events():
        renderer.show(event)
    fold_log(fold, log)
    _print_header(console, info)
    for message in fold.messages:
        if isinstance(message, ToolMessage) and message.tool_call_id in answered:
            console.print("", draw_card(renderer.cards[message.tool_call_id], full=True), sep="\n")
    for message in fold.messages[fold.first_message :]:
        _print_message(console, message, renderer)
    console.print()
    if renderer.ending is not None and renderer.ending.status == "failed":
        console.print(draw_failure(renderer.ending))
    if renderer.steps or renderer.metrics:
        console.print(
            steps_table([*renderer.steps, renderer.metrics] if renderer.metrics else renderer.steps)
        )


async def replay_run(
    opened: AbstractAsyncContextManager[RunLogs], name: str, *, fast: bool, as_json: bool
) -> None:
    """Replay a run, or print its stored log. Raises AgioError."""
    async with opened as repository:
        info = await find_run(repository, name)
        log = await repository.get_log(info.run_id)
        if as_json:
            sys.stdout.buffer.write(log.payload)
            sys.stdout.buffer.flush()
            return
        fold = await session_history(repository, info.session_id, info)
    console = make_console()
    renderer = EventRenderer(make_stage(console, plain=False), echo=True)
    renderer.expect(fold.open_calls, fold.interrupts.values())
    if console.is_terminal:
        speed = "without pauses" if fast else f"pauses limited to {LONGEST_GAP_S:g} s (--fast: no pauses)"
        console.print(f"replay of {info.run_id}, {speed}", style="dim", highlight=False)
    await play(log.events(), renderer, fast=fast)
    if info.status == "running":
        console.print("The run is still running: this is its log so far.", style="yellow")


@asynccontextmanager
async def _asked(server: "ServerClient") -> AsyncGenerator[RunLogs]:
    from agio.cli.client.remote_runs import RemoteRuns

    yield RemoteRuns(server)


@asynccontextmanager
async def _stored(store: Path) -> AsyncGenerator[RunLogs]:
    repository = await open_store(store, read_only=True)
    try:
        yield repository
    finally:
        await repository.close()


def _print_header(console: Console, info: RunInfo) -> None:
    console.print(Text.assemble((info.run_id, "bold"), "  ", (info.status, STATUS_STYLES[info.status])))
    rows = {
        "agent": f"{info.agent}, {info.model}",
        "thread": info.session_id,
        "started": started(info),
        "took": f"{took(info)}, {info.last_seq} events",
    }
    for key, value in rows.items():
        console.print(Text.assemble((f"{key:<8}", "dim"), printable(value)))


def _print_message(console: Console, message: Message, renderer: EventRenderer) -> None:
    match message:
        case UserMessage():
            console.print()
            console.print(Text.assemble(("> ", "bold cyan"), (printable(readable(message.content)), "bold")))
        case ReasoningMessage():
            console.print()
            console.print(Text(printable(message.content).strip(), "dim italic"))
        case AssistantMessage():
            if message.content:
                text = printable(message.content)
                console.print()
                console.print(AnswerMarkdown(text, hyperlinks=False) if console.is_terminal else Text(text))
            for call in message.tool_calls or []:
                if call.id in renderer.cards:
                    console.print("", draw_card(renderer.cards[call.id], full=True), sep="\n")
        case _:
            pass
