"""Where agents' models are: asked of the store now and then, anew after a change, never for what is no team's."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from agio.core.provider import ModelEndpoint, ProviderFields, ProviderRecord, Sealed
from agio.core.store.records import AgentFields, AgentRecord
from agio.core.store.store import Store
from agio.db.repository import open_store
from agio.errors import StoreError, UserError
from agio.gateway.tools.endpoints import Found, ModelEndpoints, key_place
from agio.vault import Vault
from tests.support.engine import soon

VAULT = Vault([b"k" * 32])
FIELDS = ProviderFields(name="acme", kind="openai", base_url="https://models.example")


class Asked:
    """Counts what the store is asked, and may keep its answers back."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []
        self.began = asyncio.Event()
        self.open = asyncio.Event()
        self.open.set()
        self._find = store.find_provider
        monkeypatch.setattr(store, "find_provider", self._noted)

    async def _noted(self, tenant: str, name: str) -> tuple[ProviderRecord, Sealed | None] | None:
        self.names.append(f"{tenant}/{name}")
        found = await self._find(tenant, name)
        self.began.set()
        await self.open.wait()
        return found


@asynccontextmanager
async def _stored(*providers: str) -> AsyncGenerator[tuple[Store, AgentRecord]]:
    store = await open_store(":memory:")
    for provider_id in providers:
        key = VAULT.seal(key_place("default", provider_id), f"sk-of-{provider_id}")
        await store.create_provider("default", provider_id, FIELDS, key)
    fields = AgentFields(name="a", system_prompt="x", model_provider="acme", model_name="m")
    yield store, await store.create_agent("default", fields)
    await store.close()


async def test_a_provider_is_asked_for_once_and_again_after_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """R12: the next message finds it at hand; a change is known at once."""
    async with _stored("prv_1") as (store, agent):
        asked = Asked(store, monkeypatch)
        endpoints = ModelEndpoints(store, VAULT)
        assert endpoints.at_hand(agent) is None
        found = await endpoints.find(agent)
        assert endpoints.open(found) == ModelEndpoint("openai", FIELDS.base_url, "sk-of-prv_1")
        assert endpoints.at_hand(agent) is found
        assert await endpoints.find(agent) is found
        assert asked.names == ["default/acme"]
        await store.delete_provider("default", "prv_1")
        endpoints.forget("other")
        assert endpoints.at_hand(agent) is found
        endpoints.forget("default")
        assert endpoints.at_hand(agent) is None
        assert endpoints.open(await endpoints.find(agent)) is None
        assert endpoints.at_hand(agent) == Found()
        assert asked.names == ["default/acme"] * 2


@pytest.mark.parametrize(("source", "provider"), [("stored", "demo"), ("code", "openai")])
async def test_what_cannot_be_a_teams_is_never_asked_for(
    monkeypatch: pytest.MonkeyPatch, source: str, provider: str
) -> None:
    """R12: the offline model, and agents that bring their own."""
    async with _stored() as (store, _):
        asked = Asked(store, monkeypatch)
        fields = AgentFields(name="b", system_prompt="x", model_provider=provider, model_name="m")
        if source == "code":
            [agent] = await store.put_code_agents("default", [fields])
        else:
            agent = await store.create_agent("default", fields)
        endpoints = ModelEndpoints(store, VAULT)
        assert endpoints.at_hand(agent) == await endpoints.find(agent) == Found()
        assert asked.names == []


async def test_what_was_read_before_a_change_is_not_kept_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """C4: a deleted key is not used because a slow read brought it back."""
    async with _stored("prv_1") as (store, agent):
        asked = Asked(store, monkeypatch)
        endpoints = ModelEndpoints(store, VAULT)
        asked.open.clear()
        reading = asyncio.create_task(endpoints.find(agent))
        await soon(asked.began.wait())
        await store.delete_provider("default", "prv_1")
        endpoints.forget("default")
        asked.open.set()
        await soon(reading)
        assert endpoints.at_hand(agent) is None


async def test_what_was_found_is_asked_for_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """R12: a change made at another gateway is known before long."""
    monkeypatch.setattr("agio.gateway.tools.endpoints._KEPT_S", -1.0)
    async with _stored("prv_1") as (store, agent):
        endpoints = ModelEndpoints(store, VAULT)
        await endpoints.find(agent)
        assert endpoints.at_hand(agent) is None


async def test_a_key_that_cannot_be_opened_is_told() -> None:
    """C4: without a vault, and with one that has another key."""
    async with _stored("prv_1") as (store, agent):
        found = await ModelEndpoints(store, VAULT).find(agent)
        with pytest.raises(UserError, match="no_secret_key"):
            ModelEndpoints(store).open(found)
        with pytest.raises(StoreError, match="secret_unreadable"):
            ModelEndpoints(store, Vault([b"l" * 32])).open(found)
