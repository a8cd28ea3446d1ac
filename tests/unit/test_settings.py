"""What the environment says to servers, and what is refused of it."""

import json

import pytest

from agio.core.config import Price, ServerLimits
from agio.errors import UserError
from agio.settings import load_server_settings, load_settings, worker_environment

KEY = "k" * 32


def test_an_empty_environment_has_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    """L6: nothing needs to be set; an empty variable counts as none."""
    for variable in ("AGIO_DATABASE_URL", "AGIO_WORKER_KEY", "AGIO_BOOTSTRAP_API_KEY", "AGIO_LIMITS"):
        monkeypatch.setenv(variable, "")
    settings = load_server_settings()
    assert (settings.database_url, settings.worker_key, settings.bootstrap_api_key) == (None, None, None)
    assert settings.limits == ServerLimits()


def test_what_is_set_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """L6, R12: limits that are named change, the others stay; providers with a key or an address are known."""
    monkeypatch.setenv("AGIO_BOOTSTRAP_API_KEY", KEY)
    monkeypatch.setenv("AGIO_LIMITS", json.dumps({"running_per_user": 7, "drain_s": 0.5}))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-1")
    monkeypatch.setenv("GEMINI_BASE_URL", "http://127.0.0.1:1")
    settings = load_server_settings()
    assert settings.bootstrap_api_key == KEY
    assert settings.limits == ServerLimits(running_per_user=7, drain_s=0.5)
    assert {"anthropic", "gemini"} <= set(load_settings().with_models())


@pytest.mark.parametrize(
    "limits",
    ["[]", "nonsense", '{"nonsense": 1}', '{"drain_s": "long"}', '{"tick_s": 0}', '{"running_per_user": -1}'],
)
def test_limits_that_make_no_sense_are_refused(monkeypatch: pytest.MonkeyPatch, limits: str) -> None:
    """L6: a typo in a limit is an error, not a default."""
    monkeypatch.setenv("AGIO_LIMITS", limits)
    with pytest.raises(UserError) as caught:
        load_server_settings()
    assert caught.value.code == "invalid_setting"
    assert "AGIO_LIMITS" in caught.value.message


def test_prices_are_by_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """C8: what a million tokens cost; cached ones as the others unless it is said."""
    given = {
        "openai:gpt-x": {"input": 1.25, "output": 10},
        "acme:m:1": {"input": 0, "output": 0, "cached_input": 0},
    }
    monkeypatch.setenv("AGIO_PRICES", json.dumps(given))
    assert load_server_settings().prices == {"openai:gpt-x": Price(1.25, 10), "acme:m:1": Price(0, 0, 0)}


@pytest.mark.parametrize(
    "prices",
    [
        '{"a:\udcff": {"input": 1, "output": 1}}',
        "[]",
        "nonsense",
        '{"gpt-x": {"input": 1, "output": 1}}',
        '{"openai:": {"input": 1, "output": 1}}',
        '{"openai:gpt-x": 3}',
        '{"openai:gpt-x": {"input": 1}}',
        '{"openai:gpt-x": {"input": -1, "output": 1}}',
        '{"openai:gpt-x": {"input": "1", "output": 1}}',
        '{"openai:gpt-x": {"input": 1, "output": 1, "per_call": 1}}',
        '{"openai:gpt-x": {"input": null, "output": 1}}',
    ],
)
def test_prices_that_make_no_sense_are_refused(monkeypatch: pytest.MonkeyPatch, prices: str) -> None:
    """C8: a typo in a price is an error, not a free model."""
    monkeypatch.setenv("AGIO_PRICES", prices)
    with pytest.raises(UserError) as caught:
        load_server_settings()
    assert caught.value.code == "invalid_setting"
    assert "AGIO_PRICES" in caught.value.message


def test_a_currency_is_three_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    """C8: costs are told in it; dollars if nobody says."""
    assert load_server_settings().currency == "USD"
    monkeypatch.setenv("AGIO_CURRENCY", "eur")
    assert load_server_settings().currency == "EUR"
    for wrong in ("€", "EU", "EURO", "E1R"):
        monkeypatch.setenv("AGIO_CURRENCY", wrong)
        with pytest.raises(UserError) as caught:
            load_server_settings()
        assert caught.value.code == "invalid_setting"


@pytest.mark.parametrize("key", ["k" * 31, "ü" * 40, "k" * 40 + "\n"])
def test_a_key_that_is_short_or_odd_is_refused_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    """R2: what could be guessed, or not be sent in a header, is no key."""
    monkeypatch.setenv("AGIO_WORKER_KEY", key)
    with pytest.raises(UserError) as caught:
        load_server_settings()
    assert caught.value.code == "invalid_setting"
    assert key not in caught.value.message


def test_master_keys_are_read_and_stay_with_the_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    """C4: the first seals; a worker process gets neither them nor the database, but its models' keys."""
    assert load_server_settings().secret_keys == []
    monkeypatch.setenv("AGIO_SECRET_KEY", f"{'ab' * 32},{'cd' * 32}")
    monkeypatch.setenv("AGIO_DATABASE_URL", "postgresql://localhost/agio")
    monkeypatch.setenv("AGIO_BOOTSTRAP_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    assert load_server_settings().secret_keys == [b"\xab" * 32, b"\xcd" * 32]
    given = worker_environment(AGIO_WORKER_KEY=KEY)
    assert (given["OPENAI_API_KEY"], given["AGIO_WORKER_KEY"]) == ("sk-1", KEY)
    assert not {"AGIO_SECRET_KEY", "AGIO_DATABASE_URL", "AGIO_BOOTSTRAP_API_KEY"} & given.keys()
    monkeypatch.setenv("AGIO_SECRET_KEY", "too short")
    with pytest.raises(UserError, match="invalid_setting"):
        load_server_settings()
