"""Where a team's agents find their model: the team's own provider of that name, or else the operator's.

What was found is kept for a moment, so that a message does not wait for it; a change here is known at once, one made
at another gateway after `_KEPT_S`.
"""

import time
from collections import OrderedDict

from msgspec import Struct

from agio.core.provider import KEY_FIELD, ModelEndpoint, ProviderRecord, Sealed, SecretPlace
from agio.core.store.records import AgentRecord
from agio.core.store.store import Store
from agio.errors import UserError
from agio.vault import Vault

DEMO = "demo"
"""The provider no team can have: it is offline."""
_KEPT_S = 5.0
_KEPT = 10_000


class Found(Struct, frozen=True):
    """A team's provider with its sealed key; nothing if the name is the operator's."""

    provider: ProviderRecord | None = None
    key: Sealed | None = None


_NOTHING = Found()


class ModelEndpoints:
    """Finds the providers of agents. `vault` None: keys cannot be opened."""

    def __init__(self, store: Store, vault: Vault | None = None) -> None:
        self._store = store
        self._vault = vault
        self._kept: OrderedDict[tuple[str, str], tuple[float, Found]] = OrderedDict()
        self._changes = 0
        """How often something was forgotten: what was read before is not kept after."""

    def at_hand(self, agent: AgentRecord) -> Found | None:
        """Return what is known of an agent's provider without asking the store; None if it must be asked."""
        if agent.source == "code" or agent.model_provider == DEMO:
            return _NOTHING
        return self._known(agent.tenant, agent.model_provider)

    async def find(self, agent: AgentRecord) -> Found:
        """Return what is known of an agent's provider. Raises StoreError."""
        return self.at_hand(agent) or await self._find(agent.tenant, agent.model_provider)

    async def named(self, tenant: str, provider: str) -> ModelEndpoint | None:
        """Return the endpoint of a team's provider; None: the operator's. Raises as `find` and `open` do."""
        return self.open(self._known(tenant, provider) or await self._find(tenant, provider))

    def _known(self, tenant: str, provider: str) -> Found | None:
        kept = self._kept.get((tenant, provider))
        return kept[1] if kept is not None and kept[0] > time.monotonic() else None

    async def _find(self, tenant: str, provider: str) -> Found:
        changes = self._changes
        read = await self._store.find_provider(tenant, provider)
        found = _NOTHING if read is None else Found(*read)
        if changes == self._changes:
            self._keep((tenant, provider), found)
        return found

    def open(self, found: Found) -> ModelEndpoint | None:
        """Return a provider's endpoint with its key; None: the operator's.

        Raises StoreError `secret_unreadable`, UserError `no_secret_key`.
        """
        provider = found.provider
        return None if provider is None else self._open(provider, found.key)

    async def read(self, provider: ProviderRecord) -> ModelEndpoint:
        """Return a provider's endpoint as it is now, address and key of one moment.

        Raises as `open` does, and UserError `provider_not_found`.
        """
        found = await self._store.find_provider(provider.tenant, provider.name)
        if found is None or found[0].id != provider.id:
            return await self.read(await self._store.get_provider(provider.tenant, provider.id))
        return self._open(*found)

    def _open(self, provider: ProviderRecord, key: Sealed | None) -> ModelEndpoint:
        opened = None
        if key is not None:
            opened = need_vault(self._vault).open(key_place(provider.tenant, provider.id), key)
        return ModelEndpoint(provider.kind, provider.base_url, opened)

    def forget(self, tenant: str) -> None:
        """Ask the store again: a provider of this tenant's has changed."""
        self._changes += 1
        for kept in [kept for kept in self._kept if kept[0] == tenant]:
            del self._kept[kept]

    def _keep(self, name: tuple[str, str], found: Found) -> None:
        self._kept[name] = time.monotonic() + _KEPT_S, found
        self._kept.move_to_end(name)
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)


def key_place(tenant: str, provider_id: str) -> SecretPlace:
    """Return the place of a provider's key."""
    return SecretPlace(tenant, provider_id, KEY_FIELD)


def need_vault(vault: Vault | None) -> Vault:
    """Return the vault. Raises UserError `no_secret_key` if there is none."""
    if vault is None:
        raise UserError(
            "no_secret_key",
            "This server has no master key for secrets, so it neither keeps nor opens any. Its operator sets "
            "AGIO_SECRET_KEY to what this prints: python3 -c 'import secrets; print(secrets.token_hex(32))'",
        )
    return vault
