"""`agio keys sign-in`: a sign-in link for a member. It works while a server is running."""

import sys
from pathlib import Path

from agio.cli.terminal.output import make_console
from agio.cli.terminal.tables import new_table
from agio.cli.terminal.view import printable
from agio.core.identity.principal import DEFAULT_TENANT
from agio.core.store.store import Store
from agio.db.repository import open_store
from agio.errors import UserError
from agio.gateway.auth.authenticator import SignInLink
from agio.server.address import noted_address
from agio.server.composition import database_of
from agio.server.stores import open_database
from agio.settings import ServerSettings, Settings, read_public_url


async def print_sign_in_link(
    settings: Settings,
    server: ServerSettings,
    data: Path | None,
    member: tuple[str | None, str | None],
    url: str | None,
) -> int:
    """Print a link for a member, by email address or id; without one list the members. Returns the exit code.

    Raises UserError `user_not_found`, `missing_setting`, `invalid_setting`; StoreError.
    """
    database = database_of(settings, server, data)
    named, tenant = member
    store = (
        await open_store(database, beside=True)
        if isinstance(database, Path)
        else await open_database(database)
    )
    try:
        if named is None:
            await _list_members(store, tenant or DEFAULT_TENANT)
            return 2
        base = read_public_url(url) or server.public_url or _noted(database)
        link = await SignInLink(*await _find(store, named, tenant)).keep(store)
    finally:
        await store.close()
    print(link.url(base))
    return 0


def _noted(database: str | Path) -> str:
    found = noted_address(database) if isinstance(database, Path) else None
    if found is None:
        raise UserError(
            "missing_setting",
            "The server's public address is unknown. Pass --url https://agio.example.com, or set AGIO_PUBLIC_URL.",
        )
    return found


async def _find(store: Store, named: str, tenant: str | None) -> tuple[str, str]:
    if "@" not in named:
        return tenant or DEFAULT_TENANT, named
    account = await store.find_account(named)
    teams = [] if account is None else await store.memberships(account.id)
    for team in teams:
        if tenant in (None, team.tenant):
            return team.tenant, team.user
    raise UserError("user_not_found", f"No member of {tenant or 'any team'} has the email address {named}.")


async def _list_members(store: Store, tenant: str) -> None:
    console = make_console(stderr=True)
    print(f"Choose a member with --user EMAIL or a user id. Members of the team {tenant}:", file=sys.stderr)
    table = new_table()
    for column in ("USER", "NAME", "EMAIL", "ROLE"):
        table.add_column(column)
    for member in await store.list_members(tenant):
        table.add_row(member.user, printable(member.name), printable(member.email or "-"), member.role)
    console.print(table)
