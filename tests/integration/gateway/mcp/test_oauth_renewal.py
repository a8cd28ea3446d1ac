"""Tokens that are due: two gateways renew them with one request, on every database."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from agio.core.mcp import McpOAuth, McpServer, McpServerFields
from agio.core.store.store import Store
from agio.egress import Egress
from agio.errors import UpstreamError
from agio.tools.mcp.oauth.grants import Grants
from agio.tools.mcp.oauth.provider import Client, Tokens, now_ms
from agio.vault import Vault
from tests.support.backends import LASTING_KINDS, lasting_backend
from tests.support.engine import soon
from tests.support.oauth_server import AuthorizationServer, Grant, authorized_server

VAULT = Vault([b"k" * 32])


@pytest.fixture(params=LASTING_KINDS)
async def stores(request: pytest.FixtureRequest) -> AsyncIterator[list[Store]]:
    """The stores of two gateways on one database."""
    backend = lasting_backend(request)
    opened = [await backend.open()]
    if request.param == "postgres":
        opened.append(await backend.open())
    yield opened
    for store in opened:
        await store.close()


def gateways(stores: list[Store]) -> list[Grants]:
    return [Grants(store, Egress(["127.0.0.1"]), lambda: VAULT) for store in (stores[0], stores[-1])]


async def due(store: Store, server: AuthorizationServer, expires_at: int) -> McpServer:
    """A server, connected with tokens that expire then."""
    fields = McpServerFields(name="shop", url=server.mcp_url, auth="oauth", oauth=McpOAuth())
    made = await store.create_mcp_server("default", "mcp_1", fields, {})
    server.grants["rt-0"] = Grant("agio", server.mcp_url, "", "")
    tokens = Tokens(
        access="at-0",
        refresh="rt-0",
        issuer=server.url,
        token_endpoint=f"{server.url}/token",
        revocation_endpoint=None,
        resource=server.mcp_url,
        client=Client(id="agio", redirect_uri=""),
        lifetime_s=3600,
    )
    sealed = gateways([store])[0].seal("default", "mcpc_1", tokens)
    await store.connect_mcp_server("default", "mcp_1", "ann", "mcpc_1", server.url, expires_at, sealed)
    return made


async def test_two_gateways_renew_tokens_with_one_request(stores: list[Store]) -> None:
    """C4: ten calls at each, when the token is due and again when the server refuses it: all get the new one."""
    async with authorized_server() as (server, _):
        shop = await due(stores[0], server, 1)
        both = gateways(stores)
        found = await soon(asyncio.gather(*(each.tokens(shop, "ann") for each in both * 10)))
        assert server.renewals == 1
        assert {tokens.access for tokens in found} == set(server.access)
        [old] = server.access
        worth = await soon(asyncio.gather(*(each.refused(shop, "ann", old) for each in both * 10)))
        assert (server.renewals, set(worth)) == (2, {True})


async def test_a_cancelled_call_loses_no_renewal(stores: list[Store]) -> None:
    """C4: the provider has replaced the refresh token by then; the next call has the new one, closing waits for it."""
    async with authorized_server() as (server, _):
        shop = await due(stores[0], server, 1)
        grants = gateways(stores)[0]
        call = asyncio.create_task(grants.tokens(shop, "ann"))
        await soon(server.asks.wait())
        call.cancel()
        await soon(grants.close())
        assert (await grants.tokens(shop, "ann")).access in server.access
        assert server.renewals == 1


async def test_a_provider_that_is_away_costs_no_token_that_still_works(stores: list[Store]) -> None:
    """C4: one that is due is used to its end; after it the call fails, and the connection stays."""
    async with authorized_server() as (server, _):
        server.away = True
        shop = await due(stores[0], server, now_ms() + 50_000)
        grants = gateways(stores)[0]
        assert (await grants.tokens(shop, "ann")).access == "at-0"
        found = await stores[0].find_mcp_connection("default", "mcp_1", "ann")
        assert found is not None
        assert await stores[0].renew_mcp_connection("default", "mcpc_1", 1, 1, found.tokens)
        with pytest.raises(UpstreamError, match="mcp_oauth_failed"):
            await grants.tokens(shop, "ann")
        server.away = False
        assert (await grants.tokens(shop, "ann")).access in server.access
