"""`agio documents`: the options of its commands."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from agio.cli.commands.options import ServerOption
from agio.settings import load_server_settings

documents = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@documents.callback()
def root() -> None:
    """Documents of a server."""


@documents.command("add")
def add(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A file or a folder.", show_default=False)],
    collection: Annotated[
        str,
        typer.Option("--collection", metavar="NAME", help="The collection; it is made if there is none."),
    ] = "Documents",
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on, and add what changes, until interrupted.")
    ] = False,
    server: ServerOption = None,
) -> None:
    """Add a file, or the files of a folder, to a collection of a server. What is there already is left as it is."""
    from agio.cli.client.documents import add_documents, watch_documents
    from agio.cli.client.server_client import ServerClient

    settings = load_server_settings()
    client = ServerClient(server or "http://127.0.0.1:8700", settings.api_key)
    failed = asyncio.run((watch_documents if watch else add_documents)(client, path, collection))
    raise typer.Exit(1 if failed else 0)
