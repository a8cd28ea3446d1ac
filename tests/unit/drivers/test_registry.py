import subprocess
import sys

import pytest

from agio.drivers.endpoint import Endpoint
from agio.drivers.registry import PROVIDERS, open_driver, split_model
from agio.errors import UserError


def test_a_model_is_named_by_provider_and_model() -> None:
    """L3: everything after the first colon is the vendor's name for the model."""
    assert split_model("openai:gpt-5") == ("openai", "gpt-5")
    assert split_model("openai-chat:llama3.2:3b") == ("openai-chat", "llama3.2:3b")


@pytest.mark.parametrize("name", ["", "gpt-5", "openai:", ":gpt-5", "openai: "])
def test_a_name_without_provider_or_model_is_refused(name: str) -> None:
    """L3: the error shows how to write it and which providers there are."""
    with pytest.raises(UserError) as caught:
        split_model(name)
    assert caught.value.code == "invalid_model"
    assert "anthropic" in caught.value.message


@pytest.mark.parametrize(
    ("wrong", "near"), [("antropic", "anthropic"), ("OpenAI", "openai"), ("google", None)]
)
def test_an_unknown_provider_is_refused_with_the_nearest_name(wrong: str, near: str | None) -> None:
    """L3: a typo costs one look at the error."""
    with pytest.raises(UserError) as caught:
        split_model(f"{wrong}:x")
    assert caught.value.code == "unknown_provider"
    assert all(name in caught.value.message for name in PROVIDERS)
    assert near is None or f"Did you mean {near}?" in caught.value.message


@pytest.mark.parametrize(
    ("provider", "variable"),
    [
        ("openai", "OPENAI_API_KEY"),
        ("openai-chat", "OPENAI_API_KEY"),
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("gemini", "GEMINI_API_KEY"),
    ],
)
async def test_a_vendors_own_address_needs_a_key_and_another_does_not(provider: str, variable: str) -> None:
    """R12: a custom base URL works without a key; without either, the error names the variable and the demo."""
    with pytest.raises(UserError) as caught:
        open_driver(provider, Endpoint())
    assert caught.value.code == "missing_provider_key"
    assert variable in caught.value.message
    assert "demo:demo" in caught.value.message
    for endpoint in (Endpoint(api_key="k"), Endpoint(base_url="http://127.0.0.1:1/v1")):
        driver = open_driver(provider, endpoint)
        assert driver.wire == provider
        await driver.aclose()


@pytest.mark.parametrize("base_url", ["localhost:8000", "ftp://x", "http://", "/v1"])
def test_a_base_url_that_is_none_is_refused_at_once(base_url: str) -> None:
    """R12: a mistyped base URL is the caller's to fix, not a failed connection."""
    with pytest.raises(UserError) as caught:
        open_driver("openai", Endpoint(base_url=base_url))
    assert caught.value.code == "invalid_base_url"


def test_opening_a_driver_does_not_import_the_http_client() -> None:
    """L3: importing and opening stays cheap; aiohttp comes with the first call."""
    code = (
        "import sys; from agio.drivers.registry import open_driver; from agio.drivers.endpoint import Endpoint\n"
        "assert 'agio.drivers.gemini' not in sys.modules\n"
        "open_driver('gemini', Endpoint(api_key='k')); assert 'aiohttp' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


async def test_the_demo_opens_without_anything() -> None:
    """L3: the offline demo needs neither key nor address."""
    driver = open_driver("demo", Endpoint())
    assert driver.wire == "demo"
    await driver.aclose()
