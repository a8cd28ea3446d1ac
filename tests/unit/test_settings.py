"""What the environment says to servers, and what is refused of it."""

import json
import os

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


@pytest.mark.parametrize(
    ("variables", "sinks"),
    [
        ({}, []),
        ({"OPENAI_API_KEY": "sk"}, ["openai"]),
        ({"OPENAI_API_KEY": "sk", "OPENAI_BASE_URL": "https://api.openai.com/v1"}, ["openai"]),
        ({"OPENAI_API_KEY": "sk", "OPENAI_BASE_URL": "https://other.test/v1"}, []),
        ({"OPENAI_API_KEY": "sk", "OPENAI_AGENTS_DISABLE_TRACING": "1"}, []),
        ({"OPENAI_TRACES_ENDPOINT": "http://t.test/in"}, ["openai"]),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c.test:4318/"}, ["otlp"]),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c.test", "OTEL_SDK_DISABLED": "true"}, []),
        ({"OPENAI_API_KEY": "sk", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c.test", "AGIO_TRACES": "off"}, []),
    ],
)
def test_traces_are_on_where_there_is_an_address_or_a_key(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], sinks: list[str]
) -> None:
    """R10: and each has a variable that turns it off."""
    for name in [*os.environ]:
        if name.startswith(("OPENAI_", "OTEL_", "AGIO_")):
            monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert load_server_settings().traces.sinks == sinks


def test_a_collector_is_named_as_for_opentelemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    """R10: one address or two, headers with encoded values, a name."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c.test:4318/")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://m.test/in")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b,x=1")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "x=2")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "service.name=shop,zone=eu")
    read = load_server_settings().traces.otlp
    assert read is not None
    assert (read.traces_url, read.metrics_url) == ("http://c.test:4318/v1/traces", "http://m.test/in")
    assert (read.headers, read.metrics_headers) == (
        [("api-key", "a b"), ("x", "1")],
        [("api-key", "a b"), ("x", "2")],
    )
    assert read.resource == {"service.name": "shop", "zone": "eu"}


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "no pairs"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "collector:4318"),
        ("OPENAI_TRACES_ENDPOINT", "ftp://t.test"),
        ("AGIO_TRACE_URL", "https://see.test/"),
        ("AGIO_TRACES", "perhaps"),
    ],
)
def test_a_wrong_setting_of_traces_is_refused(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    """R10: with the variable's name."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c.test:4318")
    monkeypatch.setenv(variable, value)
    with pytest.raises(UserError) as caught:
        load_server_settings()
    assert (caught.value.code, caught.value.details) == ("invalid_setting", {"variable": variable})
