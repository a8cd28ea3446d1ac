"""The commands and their options. Each command imports its work when it runs, to keep the start fast."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from agio.cli.commands.documents import documents
from agio.cli.commands.keys import keys
from agio.cli.commands.operator import add_operator_commands
from agio.cli.commands.options import ServerOption
from agio.cli.commands.server import add_server_commands
from agio.settings import load_server_settings, load_settings

app = typer.Typer(
    name="agio",
    help="Agents whose every run is a durable log of events.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
runs = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
add_server_commands(app)
add_operator_commands(app)
app.add_typer(runs, name="runs", help="List, show and replay runs.")
app.add_typer(documents, name="documents", help="Add documents to a collection of a server.")
app.add_typer(keys, name="keys", help="Create, list and revoke API keys of a server.")

StoreOption = Annotated[
    Path | None,
    typer.Option(
        "--store", metavar="FILE", help="The file that stores the runs.", show_default="~/.agio/agio.db"
    ),
]
RunArgument = Annotated[
    str,
    typer.Argument(metavar="RUN_ID", help="A run id, the start or end of one, or: last", show_default=False),
]


def _store(store: Path | None) -> Path:
    return store or load_settings().data_dir / "agio.db"


@app.callback()
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Agents whose every run is a durable log of events."""
    if version:
        from agio.cli.version import print_version

        print_version()
        raise typer.Exit


@app.command()
def chat(
    model: Annotated[
        str | None,
        typer.Option(
            "--model", metavar="PROVIDER:MODEL", help="Such as openai:gpt-5.", show_default="demo:demo"
        ),
    ] = None,
    store: StoreOption = None,
    thread: Annotated[
        str | None, typer.Option("--thread", metavar="ID", help="Continue this conversation.")
    ] = None,
    instructions: Annotated[
        str | None, typer.Option("--instructions", metavar="TEXT", help="The agent's instructions.")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", metavar="URL", help="The base URL of the model API.")
    ] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Plain text, without colours or animation.")] = False,
    server: ServerOption = None,
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="NAME", help="The server's agent to talk to.")
    ] = None,
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="Continue this session of the server.")
    ] = None,
) -> None:
    """Chat with an agent, or pipe lines to it."""
    if server is not None:
        local = {"--store": store, "--thread": thread, "--instructions": instructions, "--base-url": base_url}
        for name, given in {**local, "--model": model}.items():
            if given is not None:
                raise typer.BadParameter("it belongs to a chat without --server.", param_hint=name)
        from agio.cli.chat.server_chat import ServerChatOptions, server_chat

        asked = ServerChatOptions(server, load_server_settings().api_key, agent, session, plain)
        raise typer.Exit(server_chat(asked, load_settings()))
    for name, given in (("--agent", agent), ("--session", session)):
        if given is not None:
            raise typer.BadParameter("it needs --server URL.", param_hint=name)
    from agio.cli.chat.local_chat import ChatOptions, chat

    settings = load_settings()
    options = ChatOptions(
        model or "demo:demo", _store(store), thread, instructions, base_url, plain, store is not None
    )
    raise typer.Exit(chat(options, settings))


@app.command()
def explain(
    code: Annotated[
        str | None, typer.Argument(metavar="CODE", help="Such as store_full.", show_default=False)
    ] = None,
) -> None:
    """Explain an error code and what to do about it; without one, list them all."""
    from agio.cli.commands.explain import explain, list_codes

    print(list_codes() if code is None else explain(code))


@runs.command("list")
def list_runs(
    store: StoreOption = None,
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="NAME", help="Only runs of this agent.")
    ] = None,
    thread: Annotated[
        str | None, typer.Option("--thread", metavar="ID", help="Only runs of this thread.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many, newest first.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON per run.")] = False,
    server: ServerOption = None,
) -> None:
    """List runs, newest first."""
    from agio.cli.commands.runs import list_runs, opened_runs

    # Before the first chat there is no file: an error only if it was named.
    known = server is not None or store is not None or _store(None).exists()
    opened = opened_runs(_store(store), server, load_server_settings().api_key) if known else None
    asyncio.run(list_runs(opened, agent=agent, thread=thread, limit=limit, as_json=as_json))


@runs.command("show")
def show_run(run_id: RunArgument, store: StoreOption = None, server: ServerOption = None) -> None:
    """Show a run: its messages, tool calls and cost."""
    from agio.cli.commands.runs import opened_runs, show_run

    asyncio.run(show_run(opened_runs(_store(store), server, load_server_settings().api_key), run_id))


@runs.command("replay")
def replay_run(
    run_id: RunArgument,
    store: StoreOption = None,
    fast: Annotated[bool, typer.Option("--fast", help="Without pauses.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the stored events, one per line.")] = False,
    server: ServerOption = None,
) -> None:
    """Replay a run at its original speed."""
    from agio.cli.commands.runs import opened_runs, replay_run

    opened = opened_runs(_store(store), server, load_server_settings().api_key)
    asyncio.run(replay_run(opened, run_id, fast=fast, as_json=as_json))
