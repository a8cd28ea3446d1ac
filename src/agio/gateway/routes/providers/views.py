"""Model providers as clients see them, without their keys. Times are milliseconds since 1970."""

from typing import Literal

from msgspec import Struct

from agio.core.provider import ProviderRecord


class ProviderView(Struct, frozen=True, kw_only=True):
    """A model provider. The operator's have no id: they are configured in the workers' environment."""

    id: str | None
    name: str
    kind: str
    """Its wire format: openai, openai-chat, anthropic, gemini or demo."""
    source: Literal["team", "operator"]
    base_url: str | None
    has_key: bool
    """Whether the team entered a key. The key itself is never shown."""
    models: list[str]
    created_at: int | None
    updated_at: int | None


class Providers(Struct, frozen=True):
    """The providers of the team's agents: the team's own, then the operator's."""

    items: list[ProviderView]


def provider_view(provider: ProviderRecord) -> ProviderView:
    """Show a provider of the team's."""
    return ProviderView(
        id=provider.id,
        name=provider.name,
        kind=provider.kind,
        source="team",
        base_url=provider.base_url,
        has_key=provider.has_key,
        models=provider.models,
        created_at=provider.created_at,
        updated_at=provider.updated_at,
    )


def operators_view(name: str) -> ProviderView:
    """Show a provider of the operator's."""
    return ProviderView(
        id=None,
        name=name,
        kind=name,
        source="operator",
        base_url=None,
        has_key=False,
        models=[],
        created_at=None,
        updated_at=None,
    )
