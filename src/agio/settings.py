"""The only reader of the environment. What it finds is handed down as values."""

import os
from pathlib import Path

from msgspec import Struct

from agio.drivers.endpoint import Endpoint

_PREFIX = {"openai": "OPENAI", "openai-chat": "OPENAI", "anthropic": "ANTHROPIC", "gemini": "GEMINI"}


class Settings(Struct, frozen=True):
    """What the environment says."""

    data_dir: Path
    endpoints: dict[str, Endpoint]

    def endpoint(self, provider: str) -> Endpoint:
        """Return where a provider is called and with which key; an empty endpoint for one without settings."""
        return self.endpoints.get(provider, Endpoint())


def load_settings() -> Settings:
    """Read the environment."""
    data = os.environ.get("AGIO_DATA")
    return Settings(
        data_dir=Path(data) if data else Path.home() / ".agio",
        endpoints={
            provider: Endpoint(
                base_url=os.environ.get(f"{prefix}_BASE_URL") or None,
                api_key=os.environ.get(f"{prefix}_API_KEY") or None,
            )
            for provider, prefix in _PREFIX.items()
        },
    )
