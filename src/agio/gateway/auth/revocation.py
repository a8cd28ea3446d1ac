"""Revocation: when a credential, a user or an account changes, its cache entries are dropped and its streams closed.

This happens here at once, on other gateways when they hear of it, and without a bus within seconds.
"""

from typing import TYPE_CHECKING

from agio.bus.signals import Revoked

if TYPE_CHECKING:
    from agio.gateway.gateway import Gateway


async def revoke(gateway: "Gateway", what: Revoked) -> None:
    """Revoke here what was revoked or changed in the store; clients with a valid credential reconnect."""
    if what.credential:
        gateway.auth.forget(what.credential)
        gateway.connections.close_credential(what.credential)
    if what.user:
        gateway.auth.forget_user(what.tenant, what.user)
        gateway.connections.close_user(what.tenant, what.user)
    if what.account:
        gateway.auth.forget_account(what.account)
        for team in await gateway.store.memberships(what.account):
            gateway.connections.close_user(team.tenant, team.user)


async def revoke_credential(gateway: "Gateway", credential: str) -> None:
    """Revoke an API key or a browser session."""
    await _revoke(gateway, Revoked(credential=credential))


async def revoke_user(gateway: "Gateway", tenant: str, user: str) -> None:
    """Revoke every credential of a user."""
    await _revoke(gateway, Revoked(tenant=tenant, user=user))


async def revoke_account(gateway: "Gateway", account: str) -> None:
    """Revoke every credential of an account, in every team."""
    await _revoke(gateway, Revoked(account=account))


async def _revoke(gateway: "Gateway", what: Revoked) -> None:
    gateway.peers.bus.send(what)
    await revoke(gateway, what)
