"""What follows when a credential, a user or a person is not what they were: nothing known of them counts any more.

Earlier look-ups are forgotten and open streams end, here at once; other gateways notice within seconds.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agio.gateway.gateway import Gateway


def revoke_credential(gateway: "Gateway", credential: str) -> None:
    """Let go of an API key or a browser's session."""
    gateway.auth.forget(credential)
    gateway.connections.close_credential(credential)


def revoke_user(gateway: "Gateway", tenant: str, user: str) -> None:
    """Let go of everything that stands for a user."""
    gateway.auth.forget_user(tenant, user)
    gateway.connections.close_user(tenant, user)


async def revoke_account(gateway: "Gateway", account: str) -> None:
    """Let go of everything that stands for a person, in every team. What is still good comes back by itself."""
    gateway.auth.forget_account(account)
    for team in await gateway.store.memberships(account):
        gateway.connections.close_user(team.tenant, team.user)
