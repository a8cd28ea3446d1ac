"""The list of providers; opens a driver by name. A driver's module is imported on first use."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import cast

from msgspec import Struct

from agio.core.model import ModelDriver
from agio.core.provider import ProviderKind
from agio.drivers.endpoint import Endpoint
from agio.errors import UserError


class Provider(Struct, frozen=True):
    """A provider's driver, and the prefix of its environment variables."""

    module: str
    driver: str
    prefix: str

    @property
    def key_variable(self) -> str:
        """The environment variable of the API key."""
        return f"{self.prefix}_API_KEY"

    @property
    def url_variable(self) -> str:
        """The environment variable of the base URL."""
        return f"{self.prefix}_BASE_URL"


SERVICES: Mapping[ProviderKind, Provider] = {
    "openai": Provider("agio.drivers.openai_responses", "OpenAIModelDriver", "OPENAI"),
    "openai-chat": Provider("agio.drivers.openai_chat", "OpenAIChatDriver", "OPENAI"),
    "anthropic": Provider("agio.drivers.anthropic", "AnthropicDriver", "ANTHROPIC"),
    "gemini": Provider("agio.drivers.gemini", "GeminiDriver", "GEMINI"),
}
"""The providers called over the network, by kind."""
PROVIDERS: Mapping[str, Provider | None] = {**SERVICES, "demo": None}
"""All providers by name; `demo` needs no service."""


def split_model(name: str) -> tuple[str, str]:
    """Split `provider:model`. Raises UserError `invalid_model` or `unknown_provider`."""
    provider, colon, model = name.partition(":")
    if not colon or not provider or not model.strip():
        raise UserError(
            "invalid_model",
            f"{name!r} names no model: write provider:model, such as openai:gpt-5 or demo:demo. "
            f"The providers are {', '.join(PROVIDERS)}.",
        )
    _check_known(provider)
    return provider, model.strip()


def open_driver(provider: str, endpoint: Endpoint) -> ModelDriver:
    """Open a provider's driver. Raises UserError `unknown_provider` or `missing_provider_key`."""
    _check_known(provider)
    entry = PROVIDERS[provider]
    if entry is None:
        opener = cast(Callable[[], ModelDriver], import_module("agio.drivers.demo").DemoDriver)
        return opener()
    if endpoint.base_url is None and not (endpoint.api_key or "").strip():
        raise UserError(
            "missing_provider_key",
            f"{provider} needs an API key: set {entry.key_variable}, or give the base URL of a service that "
            "needs none. The model demo:demo works without.",
            {"variable": entry.key_variable},
        )
    driver = cast(Callable[[Endpoint], ModelDriver], getattr(import_module(entry.module), entry.driver))
    return driver(endpoint)


def _check_known(provider: str) -> None:
    if provider in PROVIDERS:
        return
    from difflib import get_close_matches

    near = get_close_matches(provider.lower(), PROVIDERS, n=1, cutoff=0.6)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise UserError(
        "unknown_provider",
        f"There is no provider {provider!r}.{hint} The providers are {', '.join(PROVIDERS)}.",
        {"providers": list(PROVIDERS)},
    )
