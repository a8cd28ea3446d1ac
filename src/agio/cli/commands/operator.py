"""The options of `doctor`, `backup` and `restore`. Each command imports its work when it runs."""

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
        int, typer.Option("--port", min=1, max=65_535, help="The port the server would use.")
    ] = 8700,
    offline: Annotated[bool, typer.Option("--offline", help="Call no model provider.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")] = False,
) -> None:
    """Check everything a server needs, and say how to fix problems. Exits with 1 if there is one."""
    import asyncio

    from agio.cli.operate.doctor import examine

    raise typer.Exit(asyncio.run(examine(data, port=port, offline=offline, as_json=as_json)))


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.", show_default=False)],
    data: DataOption = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Back up the embedded store to a file, even while a server is running."""
    from agio.cli.operate.backup import back_up
    from agio.settings import load_server_settings, load_settings

    back_up(file, data, load_settings(), load_server_settings(), replace=force)


def restore(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A backup made by `agio backup`.", show_default=False)
    ],
    data: DataOption = None,
) -> None:
    """Restore the embedded store from a backup; the previous store is kept beside it."""
    from agio.cli.operate.backup import put_back
    from agio.settings import load_server_settings, load_settings

    put_back(file, data, load_settings(), load_server_settings())
