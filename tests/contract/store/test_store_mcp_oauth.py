"""OAuth connections to MCP servers: kept for a user or a team, renewed once, gone with what they belong to."""

import asyncio

import pytest

from agio.core.mcp import McpOAuth, McpServerFields
from agio.core.mcp_oauth import client_place, tokens_place
from agio.core.provider import Sealed
from agio.core.store.store import Store
from agio.errors import UserError
from tests.support.scenes import person

SHOP = McpServerFields(name="shop", url="https://a.example/mcp", auth="oauth", oauth=McpOAuth())
ISSUER = "https://as.example"
OLD, NEW = Sealed("k1", b"old"), Sealed("k1", b"new")


async def connect(store: Store, owner: str, connection_id: str) -> None:
    await store.connect_mcp_server("default", "mcp_1", owner, connection_id, ISSUER, 1000, OLD)


async def test_a_connection_is_its_users_or_the_teams(store: Store) -> None:
    """C4: a user sees their own and the team's; another user and another team do not. A new one replaces the old."""
    await person(store, "other", "bob")
    await store.create_mcp_server("default", "mcp_1", SHOP, {})
    await connect(store, "local", "mcpc_1")
    await connect(store, "", "mcpc_2")
    assert {each.id for each in await store.list_mcp_connections("default", "local")} == {"mcpc_2", "mcpc_1"}
    assert [each.id for each in await store.list_mcp_connections("default", "eve")] == ["mcpc_2"]
    assert await store.list_mcp_connections("other", "local") == []
    assert await store.find_mcp_connection("other", "mcp_1", "local") is None
    found = await store.find_mcp_connection("default", "mcp_1", "local")
    assert found is not None
    assert (found.version, found.connected, found.issuer, found.expires_at) == (1, True, ISSUER, 1000)
    assert found.tokens == OLD
    await connect(store, "local", "mcpc_3")
    assert await store.secrets_of("default", "mcpc_1") == {}
    assert not await store.disconnect_mcp_server("other", "mcp_1", "local")
    assert await store.disconnect_mcp_server("default", "mcp_1", "local")
    assert not await store.disconnect_mcp_server("default", "mcp_1", "local")
    assert await store.secrets_of("default", "mcpc_3") == {}


async def test_of_two_renewals_of_one_version_one_counts(store: Store) -> None:
    """C4: the tokens of the other are not kept; a grant that ended loses its tokens and says why."""
    await store.create_mcp_server("default", "mcp_1", SHOP, {})
    await connect(store, "local", "mcpc_1")
    renewals = [store.renew_mcp_connection("default", "mcpc_1", 1, 2000, NEW) for _ in range(2)]
    assert sorted(await asyncio.gather(*renewals)) == [False, True]
    assert not await store.renew_mcp_connection("other", "mcpc_1", 2, None, None, "gone")
    found = await store.find_mcp_connection("default", "mcp_1", "local")
    assert found is not None
    assert (found.version, found.expires_at, found.tokens) == (2, 2000, NEW)
    [(place, sealed)] = await store.secrets_to_rotate("k2", None, 10)
    assert (place, sealed) == (tokens_place("default", "mcpc_1", ISSUER), NEW)
    assert await store.renew_mcp_connection("default", "mcpc_1", 2, None, None, "It ended.")
    found = await store.find_mcp_connection("default", "mcp_1", "local")
    assert found is not None
    assert (found.connected, found.error, found.tokens) == (False, "It ended.", None)


async def test_connections_end_with_the_server_its_address_and_the_member(store: Store) -> None:
    """C4: another address or way to sign in ends them all, a removed member's go along; no sealed row is left."""
    await person(store, "default", "ann")
    await store.create_mcp_server("default", "mcp_1", SHOP, {})
    for number, change in enumerate((McpServerFields(name="shop", url="https://b.example/"), None)):
        await connect(store, "local", f"mcpc_{number}")
        await store.put_mcp_client("default", "mcp_1", ISSUER, OLD)
        assert await store.get_secret(client_place("default", "mcp_1", ISSUER)) == OLD
        if change is None:
            await store.delete_mcp_server("default", "mcp_1")
        else:
            await store.update_mcp_server("default", "mcp_1", SHOP, {})
            assert len(await store.list_mcp_connections("default", "local")) == 1
            await store.update_mcp_server("default", "mcp_1", change, {})
        assert await store.list_mcp_connections("default", "local") == []
        assert await store.count_secrets() == {}
    await store.create_mcp_server("default", "mcp_1", SHOP, {})
    await connect(store, "ann", "mcpc_5")
    await store.remove_member("default", "ann")
    assert await store.list_mcp_connections("default", "ann") == []
    assert await store.count_secrets() == {}
    for call in (
        store.connect_mcp_server("default", "mcp_2", "", "mcpc_6", ISSUER, None, OLD),
        store.put_mcp_client("default", "mcp_2", ISSUER, OLD),
    ):
        with pytest.raises(UserError, match="mcp_server_not_found"):
            await call
