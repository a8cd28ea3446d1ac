"""`agio keys`: the options of its commands."""

import asyncio
from typing import Annotated

import typer

from agio.cli.options import ApiKeyOption, DataOption, ServerOption
from agio.settings import load_server_settings, load_settings

keys = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@keys.command("create")
def create_key(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the key is for.", show_default=False)],
    data: DataOption = None,
    server: ServerOption = None,
    api_key: ApiKeyOption = None,
) -> None:
    """Make an API key and print it: it is shown once."""
    from agio.cli.keys import create_key, opened_keys

    opened = opened_keys(load_settings(), load_server_settings(), data, server, api_key)
    asyncio.run(create_key(opened, name))


@keys.command("list")
def list_keys(data: DataOption = None, server: ServerOption = None, api_key: ApiKeyOption = None) -> None:
    """List the API keys, without the keys themselves."""
    from agio.cli.keys import list_keys, opened_keys

    asyncio.run(list_keys(opened_keys(load_settings(), load_server_settings(), data, server, api_key)))


@keys.command("revoke")
def revoke_key(
    key_id: Annotated[
        str, typer.Argument(metavar="KEY_ID", help="As the list shows it.", show_default=False)
    ],
    data: DataOption = None,
    server: ServerOption = None,
    api_key: ApiKeyOption = None,
) -> None:
    """End an API key."""
    from agio.cli.keys import opened_keys, revoke_key

    opened = opened_keys(load_settings(), load_server_settings(), data, server, api_key)
    asyncio.run(revoke_key(opened, key_id))
