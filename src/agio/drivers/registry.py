"""From `provider:model` to a driver. A driver's module is imported when it is opened."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import cast

from msgspec import Struct

from agio.core.model import ModelDriver
from agio.drivers.endpoint import Endpoint
from agio.errors import UserError


class Provider(Struct, frozen=True):
    """Where a provider's driver is, and the environment variable people keep its key in."""

    module: str
    driver: str
    key_variable: str


PROVIDERS: Mapping[str, Provider | None] = {
    "openai": Provider("agio.drivers.openai_responses", "OpenAIModelDriver", "OPENAI_API_KEY"),
    "openai-chat": Provider("agio.drivers.openai_chat", "OpenAIChatDriver", "OPENAI_API_KEY"),
    "anthropic": Provider("agio.drivers.anthropic", "AnthropicDriver", "ANTHROPIC_API_KEY"),
    "gemini": Provider("agio.drivers.gemini", "GeminiDriver", "GEMINI_API_KEY"),
    "demo": None,
}
"""The providers by name; `demo` needs no service."""


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
    """Open a provider's driver. Raises UserError `unknown_provider` or `missing_api_key`."""
    _check_known(provider)
    entry = PROVIDERS[provider]
    if entry is None:
        opener = cast(Callable[[], ModelDriver], import_module("agio.drivers.demo").DemoDriver)
        return opener()
    if endpoint.base_url is None and not (endpoint.api_key or "").strip():
        raise UserError(
            "missing_api_key",
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
