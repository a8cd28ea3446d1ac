"""The commands that look after a store and a server: their options. What a command does is imported when it runs."""

from pathlib import Path
from typing import Annotated

import typer

from agio.cli.commands.options import DataOption


def add_operator_commands(app: typer.Typer) -> None:
    """Add `doctor`, `backup` and `restore`."""
    for command in (doctor, backup, restore):
        app.command()(command)


def doctor(
    data: DataOption = None,
    port: Annotated[
        int, typer.Option("--port", min=1, max=65_535, help="Where a server is to listen.")
    ] = 8700,
    offline: Annotated[bool, typer.Option("--offline", help="Call no model provider.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")] = False,
) -> None:
    """Look at everything a server needs: what is wrong, and what to do about it. Exits with 1 for a problem."""
    import asyncio

    from agio.cli.operate.doctor import examine

    raise typer.Exit(asyncio.run(examine(data, port=port, offline=offline, as_json=as_json)))


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to.", show_default=False)],
    data: DataOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Copy the embedded store to a file, also while a server runs on it."""
    from agio.cli.operate.backup import back_up
    from agio.settings import load_server_settings, load_settings

    back_up(file, data, load_settings(), load_server_settings(), replace=force)


def restore(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="What `agio backup` made.", show_default=False)
    ],
    data: DataOption = None,
) -> None:
    """Put a copy in the place of the embedded store; what was there is kept beside it."""
    from agio.cli.operate.backup import put_back
    from agio.settings import load_server_settings, load_settings

    put_back(file, data, load_settings(), load_server_settings())
