"""`agio keys`: the options of its commands."""

import asyncio
from typing import Annotated, get_args

import msgspec
import typer

from agio.cli.commands.options import DataOption, ServerOption
from agio.core.identity.principal import MAX_KEY_DAYS, Permission
from agio.settings import load_server_settings, load_settings

keys = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

_PERMISSIONS: tuple[Permission, ...] = get_args(Permission)


@keys.command("create")
def create_key(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the key is for.", show_default=False)],
    permission: Annotated[
        list[str] | None,
        typer.Option(
            "--permission",
            metavar="|".join(_PERMISSIONS),
            help="A permission; repeat for more.",
            show_default="same as its creator",
        ),
    ] = None,
    expires_in_days: Annotated[
        int | None,
        typer.Option(
            "--expires-in-days", min=1, max=MAX_KEY_DAYS, help="Days until it expires.", show_default="never"
        ),
    ] = None,
    data: DataOption = None,
    server: ServerOption = None,
) -> None:
    """Create an API key and print it once."""
    from agio.cli.operate.keys import create_key, opened_keys

    permissions: list[Permission] | None = [_permission(each) for each in permission] if permission else None
    opened = opened_keys(load_settings(), load_server_settings(), data, server)
    asyncio.run(create_key(opened, name, permissions, expires_in_days))


def _permission(named: str) -> Permission:
    try:
        return msgspec.convert(named, Permission)
    except msgspec.ValidationError:
        known = ", ".join(_PERMISSIONS)
        raise typer.BadParameter(f"{named!r} is not one of {known}.", param_hint="--permission") from None


@keys.command("list")
def list_keys(data: DataOption = None, server: ServerOption = None) -> None:
    """List the API keys, without the keys themselves."""
    from agio.cli.operate.keys import list_keys, opened_keys

    asyncio.run(list_keys(opened_keys(load_settings(), load_server_settings(), data, server)))


@keys.command("sign-in")
def sign_in(
    user: Annotated[
        str | None,
        typer.Option(
            "--user",
            metavar="EMAIL",
            help="The member to sign in: an email address or a user id.",
            show_default=False,
        ),
    ] = None,
    tenant: Annotated[
        str | None, typer.Option("--tenant", help="The user's team, by id.", show_default="default")
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            "--url", help="The server's public address.", show_default="AGIO_PUBLIC_URL, or the server's own"
        ),
    ] = None,
    data: DataOption = None,
) -> None:
    """Print a one-time sign-in link, valid for a day, for a member who cannot sign in."""
    from agio.cli.operate.sign_in import print_sign_in_link

    settings, server = load_settings(), load_server_settings()
    raise typer.Exit(asyncio.run(print_sign_in_link(settings, server, data, (user, tenant), url)))


@keys.command("revoke")
def revoke_key(
    key_id: Annotated[str, typer.Argument(metavar="KEY_ID", help="The id, as listed.", show_default=False)],
    data: DataOption = None,
    server: ServerOption = None,
) -> None:
    """Revoke an API key and every key created with it."""
    from agio.cli.operate.keys import opened_keys, revoke_key

    opened = opened_keys(load_settings(), load_server_settings(), data, server)
    asyncio.run(revoke_key(opened, key_id))


@keys.command("rotate")
def rotate_keys(
    data: DataOption = None,
    batch: Annotated[int, typer.Option("--batch", min=1, max=10_000, help="Secrets per transaction.")] = 100,
) -> None:
    """Re-encrypt the stored secrets with the first master key of AGIO_SECRET_KEY."""
    from agio.cli.operate.rotation import rotate_keys

    raise typer.Exit(asyncio.run(rotate_keys(data, batch, load_settings(), load_server_settings())))


@keys.command("create-worker")
def create_worker_key(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name for the key.", show_default=False)],
    tenant: Annotated[
        list[str] | None,
        typer.Option(
            "--tenant", help="The id of a team whose runs it may run; repeat for more.", show_default="all"
        ),
    ] = None,
    data: DataOption = None,
) -> None:
    """Create a worker key for AGIO_WORKER_KEY and print it once."""
    from agio.cli.operate.worker_keys import create_worker_key

    asyncio.run(create_worker_key(load_settings(), load_server_settings(), data, name, tenant or ()))


@keys.command("list-workers")
def list_worker_keys(data: DataOption = None) -> None:
    """List the worker keys, without the keys themselves."""
    from agio.cli.operate.worker_keys import list_worker_keys

    asyncio.run(list_worker_keys(load_settings(), load_server_settings(), data))


@keys.command("revoke-worker")
def revoke_worker_key(
    key_id: Annotated[str, typer.Argument(metavar="KEY_ID", help="The id, as listed.", show_default=False)],
    data: DataOption = None,
) -> None:
    """Revoke a worker key: its workers are disconnected, and other workers take over their runs."""
    from agio.cli.operate.worker_keys import revoke_worker_key

    asyncio.run(revoke_worker_key(load_settings(), load_server_settings(), data, key_id))
