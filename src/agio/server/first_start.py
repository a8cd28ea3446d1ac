"""What a store has after its first start: a user, a key if one was given, an agent to talk to, a way to sign in."""

from agio.agents import demo
from agio.core.identity.principal import DEFAULT_TENANT, LOCAL_USER
from agio.core.store.store import Store
from agio.errors import UserError
from agio.gateway.auth.authenticator import SignInLink, describe_key, hash_secret


async def make_first(store: Store, bootstrap_key: str | None = None) -> None:
    """Add what a new store lacks. The key counts only as long as there is no other."""
    await store.add_tenant(DEFAULT_TENANT, "Default")
    await store.add_user(DEFAULT_TENANT, LOCAL_USER, "Local user", "owner")
    if bootstrap_key is not None:
        key = describe_key(bootstrap_key, DEFAULT_TENANT, LOCAL_USER, "bootstrap")
        await store.add_api_key(key, hash_secret(bootstrap_key), only_first=True)
    agents = await store.list_agents(DEFAULT_TENANT, limit=100)
    if all(agent.source == "library" for agent in agents.items):
        await _add_demo(store, {agent.name for agent in agents.items})


async def offer_sign_in(store: Store) -> SignInLink | None:
    """Make a link that signs the first owner in, while there is no account."""
    return None if await store.has_account() else await SignInLink().keep(store)


async def _add_demo(store: Store, taken: set[str]) -> None:
    fields = demo.demo_agent(demo.NAME if demo.NAME not in taken else f"{demo.NAME}-agent")
    try:
        await store.create_agent(DEFAULT_TENANT, fields)
    except UserError as error:
        if error.code != "agent_exists":  # another gateway of the same database was first
            raise
