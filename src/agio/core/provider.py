"""A team's model providers, and secrets at rest. The store keeps sealed bytes and cannot open them."""

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

ProviderKind: TypeAlias = Literal["openai", "openai-chat", "anthropic", "gemini"]
"""The wire formats of model services. drivers/registry.py maps each to its driver."""
KEY_FIELD = "api_key"
"""The field under which a provider's key is stored."""


def vendor_of(provider: str) -> str:
    """Return the vendor of a provider. Both OpenAI formats share one address and one key."""
    return provider.removesuffix("-chat")


class Sealed(Struct, frozen=True):
    """A sealed secret: the id of the master key that sealed it, and the sealed bytes."""

    key_id: str
    data: bytes


class SecretPlace(Struct, frozen=True, order=True):
    """The place of a secret. A secret opens only at the place it was sealed for."""

    tenant: str
    owner_id: str
    """The provider or tool that owns the secret; deleting it deletes the secret."""
    field: str


class ProviderFields(Struct, frozen=True, kw_only=True):
    """A model provider as its team defines it. Agents refer to it by name in `model_provider`."""

    name: str
    kind: ProviderKind
    base_url: str | None = None
    """The service's address; None: the vendor's own."""
    models: list[str] = []
    """The models that are suggested first."""

    @property
    def place(self) -> str:
        """The destination of the key: the address, or the vendor."""
        return self.base_url or vendor_of(self.kind)


class ProviderRecord(ProviderFields, frozen=True, kw_only=True):
    """A provider in the store."""

    id: str
    tenant: str
    has_key: bool
    created_at: int
    updated_at: int


class ModelEndpoint(Struct, frozen=True):
    """The endpoint of a tenant's own provider. The tenant chose the address, so calls pass the egress guard."""

    kind: ProviderKind
    base_url: str | None
    api_key: str | None

    def __repr__(self) -> str:
        return f"ModelEndpoint(kind={self.kind!r}, base_url={self.base_url!r}, api_key=...)"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        return [("kind", self.kind), ("base_url", self.base_url)]


class ProviderStore(Protocol):
    """The store of providers and secrets."""

    async def list_providers(self, tenant: str) -> list[ProviderRecord]:
        """List a tenant's providers, by name."""
        ...

    async def get_provider(self, tenant: str, provider_id: str) -> ProviderRecord:
        """Return a provider. Raises UserError `provider_not_found`."""
        ...

    async def find_provider(self, tenant: str, name: str) -> tuple[ProviderRecord, Sealed | None] | None:
        """Return the provider with this name and its sealed key, or None."""
        ...

    async def create_provider(
        self, tenant: str, provider_id: str, fields: ProviderFields, key: Sealed | None
    ) -> ProviderRecord:
        """Add a provider. Raises UserError `provider_exists`."""
        ...

    async def update_provider(
        self,
        tenant: str,
        provider_id: str,
        fields: ProviderFields,
        key: Sealed | Literal["keep"] | None,
        expected: int | None = None,
    ) -> ProviderRecord:
        """Replace a provider, and replace, keep or remove its key. With `expected`, only if `updated_at` equals it.

        A key is only sent to the place it was entered for. If the place changes, the key cannot be kept: otherwise
        a user who may change the address could redirect the key to themselves.

        Raises UserError `provider_not_found`, `provider_exists`, `changed_elsewhere`, `api_key_required`.
        """
        ...

    async def delete_provider(self, tenant: str, provider_id: str) -> None:
        """Delete a provider and its key. Raises UserError `provider_not_found`."""
        ...

    async def get_secret(self, place: SecretPlace) -> Sealed | None:
        """Return the sealed secret at a place, or None."""
        ...

    async def secrets_of(self, tenant: str, owner_id: str) -> dict[str, Sealed]:
        """Return all sealed secrets of a provider or tool, by field."""
        ...

    async def secrets_to_rotate(
        self, key_id: str, after: SecretPlace | None, limit: int
    ) -> list[tuple[SecretPlace, Sealed]]:
        """List secrets of all tenants that were sealed with a master key other than `key_id`, ordered by place."""
        ...

    async def replace_secrets(self, changes: Sequence[tuple[SecretPlace, Sealed, Sealed]]) -> int:
        """Replace each old secret by its new one unless it has changed. Returns the number of replacements."""
        ...

    async def count_secrets(self) -> dict[str, int]:
        """Count the secrets of all tenants by the id of the master key that sealed them."""
        ...
