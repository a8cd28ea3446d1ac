"""Revocation: when a credential, a user or an account changes, its cache entries are dropped and its streams closed.

This happens here at once, and on other gateways within seconds.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agio.gateway.gateway import Gateway


def revoke_credential(gateway: "Gateway", credential: str) -> None:
    """Revoke an API key or a browser session."""
    gateway.auth.forget(credential)
    gateway.connections.close_credential(credential)


def revoke_user(gateway: "Gateway", tenant: str, user: str) -> None:
    """Revoke every credential of a user."""
    gateway.auth.forget_user(tenant, user)
    gateway.connections.close_user(tenant, user)


async def revoke_account(gateway: "Gateway", account: str) -> None:
    """Revoke every credential of an account, in every team. Clients with a valid credential reconnect."""
    gateway.auth.forget_account(account)
    for team in await gateway.store.memberships(account):
        gateway.connections.close_user(team.tenant, team.user)
