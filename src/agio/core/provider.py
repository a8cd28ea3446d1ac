"""Model providers of a team, and secrets at rest. The store keeps what the vault sealed, and never sees inside."""

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

ProviderKind: TypeAlias = Literal["openai", "openai-chat", "anthropic", "gemini"]
"""The wire formats of model services. drivers/registry.py has the driver of each."""
KEY_FIELD = "api_key"
"""The field of a provider's secret."""


def vendor_of(provider: str) -> str:
    """Return whose service a provider calls: both formats of OpenAI use one address and one key."""
    return provider.removesuffix("-chat")


class Sealed(Struct, frozen=True):
    """A secret as it is kept: which master key sealed it, and the sealed bytes."""

    key_id: str
    data: bytes


class SecretPlace(Struct, frozen=True, order=True):
    """Where a secret is kept, and what it opens as alone."""

    tenant: str
    owner_id: str
    """The provider or tool it belongs to, and is deleted with."""
    field: str


class ProviderFields(Struct, frozen=True, kw_only=True):
    """What a team says of a model provider. Its agents name it in `model_provider`."""

    name: str
    kind: ProviderKind
    base_url: str | None = None
    """None: the vendor's own address."""
    models: list[str] = []
    """The names its agents are offered first."""

    @property
    def place(self) -> str:
        """Where its key is sent: the address, or whose service it is."""
        return self.base_url or vendor_of(self.kind)


class ProviderRecord(ProviderFields, frozen=True, kw_only=True):
    """A provider as it is kept."""

    id: str
    tenant: str
    has_key: bool
    created_at: int
    updated_at: int


class ModelEndpoint(Struct, frozen=True):
    """Where a tenant's own provider is called. The address is the tenant's, so it is reached through the guard."""

    kind: ProviderKind
    base_url: str | None
    api_key: str | None

    def __repr__(self) -> str:
        return f"ModelEndpoint(kind={self.kind!r}, base_url={self.base_url!r}, api_key=...)"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        return [("kind", self.kind), ("base_url", self.base_url)]


class ProviderStore(Protocol):
    """Providers and secrets."""

    async def list_providers(self, tenant: str) -> list[ProviderRecord]:
        """A tenant's providers, by name."""
        ...

    async def get_provider(self, tenant: str, provider_id: str) -> ProviderRecord:
        """Raises UserError `provider_not_found`."""
        ...

    async def find_provider(self, tenant: str, name: str) -> tuple[ProviderRecord, Sealed | None] | None:
        """The provider a tenant's agents know by this name, and its sealed key."""
        ...

    async def create_provider(
        self, tenant: str, provider_id: str, fields: ProviderFields, key: Sealed | None
    ) -> ProviderRecord:
        """Raises UserError `provider_exists`."""
        ...

    async def update_provider(
        self,
        tenant: str,
        provider_id: str,
        fields: ProviderFields,
        key: Sealed | Literal["keep"] | None,
        expected: int | None = None,
    ) -> ProviderRecord:
        """Replace a provider, its key kept or removed; `expected`: only the version of that `updated_at`.

        Raises UserError `provider_not_found`, `provider_exists`, `changed_elsewhere`.

        A key is only ever sent to the place it was entered for: if the place changes it cannot be kept, or whoever
        may change the address could have it sent to themselves. Raises UserError `api_key_required`.
        """
        ...

    async def delete_provider(self, tenant: str, provider_id: str) -> None:
        """Remove a provider and its key. Raises UserError `provider_not_found`."""
        ...

    async def get_secret(self, place: SecretPlace) -> Sealed | None:
        """A sealed secret."""
        ...

    async def secrets_of(self, tenant: str, owner_id: str) -> dict[str, Sealed]:
        """All sealed secrets of a provider or tool, by field."""
        ...

    async def secrets_to_rotate(
        self, key_id: str, after: SecretPlace | None, limit: int
    ) -> list[tuple[SecretPlace, Sealed]]:
        """Secrets of any tenant that another master key than this one sealed, in the order of their places."""
        ...

    async def replace_secrets(self, changes: Sequence[tuple[SecretPlace, Sealed, Sealed]]) -> int:
        """Replace old by new, each only if it is still the old one; returns how many were replaced."""
        ...

    async def count_secrets(self) -> dict[str, int]:
        """How many secrets of any tenant each master key sealed, by the key's id."""
        ...
