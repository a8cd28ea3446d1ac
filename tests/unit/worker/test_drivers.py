"""The drivers of a worker: its own providers', and those of tenants' endpoints, which are kept apart and bounded."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import pytest

from agio.core.model import ModelEvent, ModelRequest, TextDelta
from agio.core.provider import ModelEndpoint, ProviderKind
from agio.drivers.endpoint import Endpoint
from agio.drivers.registry import open_driver
from agio.egress import Egress
from agio.errors import UserError
from agio.worker.drivers import Drivers, TenantDrivers

REQUEST = ModelRequest(model="m", system="", messages=[])


class NotedDriver:
    """A driver that says where it was opened for, one word at a time."""

    wire = "noted"

    def __init__(self, provider: str, endpoint: Endpoint) -> None:
        self.provider = provider
        self.endpoint = endpoint
        self.closed = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[ModelEvent], None]:
        for word in ("one", "two"):
            yield [TextDelta(word)]

    async def aclose(self) -> None:
        self.closed += 1


class Opened:
    """Opens such drivers and remembers them."""

    def __init__(self) -> None:
        self.drivers: list[NotedDriver] = []

    def __call__(self, provider: str, endpoint: Endpoint) -> NotedDriver:
        self.drivers.append(NotedDriver(provider, endpoint))
        return self.drivers[-1]


def at(host: str, key: str | None = "sk-team", kind: ProviderKind = "openai") -> ModelEndpoint:
    return ModelEndpoint(kind, f"https://{host}.example", key)


async def test_a_tenants_endpoint_takes_nothing_from_the_environment() -> None:
    """R12: no key is no key, no address is the vendor's own; the operator's are for the operator's names."""
    opened = Opened()
    own = {"openai": Endpoint(base_url="https://operator.example", api_key="sk-operator", headers={"x": "y"})}
    egress = Egress()
    drivers = Drivers(own, opened, egress)
    drivers.get("openai")
    drivers.get("openai", at("team", None))
    drivers.get("openai", ModelEndpoint("openai", None, "sk-team"))
    assert [driver.endpoint for driver in opened.drivers] == [
        own["openai"],
        Endpoint(base_url="https://team.example", guard=egress),
        Endpoint(api_key="sk-team", guard=egress),
    ]
    assert drivers.providers() == ["openai"]
    await drivers.aclose()


async def test_the_same_endpoint_shares_a_driver_and_another_does_not() -> None:
    """R12: kind, address and key tell endpoints apart, also where one has what the other lacks."""
    opened = Opened()
    drivers = TenantDrivers(opened, Egress())
    for endpoint in (
        at("a"),
        at("b"),
        at("a", "sk-other"),
        at("a", None),
        at("a", kind="anthropic"),
        ModelEndpoint("openai", None, "sk-team"),
    ):
        drivers.get(endpoint)
        drivers.get(endpoint)
    assert len(drivers) == len(opened.drivers) == 6
    await drivers.aclose()
    assert [driver.closed for driver in opened.drivers] == [1] * 6


async def test_too_many_drivers_are_closed_but_none_in_use() -> None:
    """R12: those used least recently go first; a stream that is open keeps its driver."""
    opened = Opened()
    drivers = TenantDrivers(opened, Egress(), kept=2)
    speaking = drivers.get(at("speaking"))
    async with aclosing(speaking.stream(REQUEST)) as stream:
        await anext(stream)
        for host in ("a", "b", "c"):
            async with aclosing(drivers.get(at(host)).stream(REQUEST)) as other:
                await anext(other)
        assert len(drivers) == 2
        assert [driver.closed for driver in opened.drivers] == [0, 1, 1, 0]
        assert [event async for event in stream] == [[TextDelta("two")]]
    borrowed = drivers.get(at("a"))
    assert [event async for event in borrowed.stream(REQUEST)] == [[TextDelta("one")], [TextDelta("two")]]
    assert opened.drivers[0].closed == 1
    await drivers.aclose()


async def test_a_driver_nobody_uses_is_closed_after_a_while_and_opened_again() -> None:
    """R12: a run that comes back later finds a driver all the same."""
    opened = Opened()
    drivers = TenantDrivers(opened, Egress(), idle_s=0)
    first = drivers.get(at("first"))
    async with aclosing(drivers.get(at("second")).stream(REQUEST)) as stream:
        await anext(stream)
    assert [driver.closed for driver in opened.drivers] == [1, 0]
    assert [event async for event in first.stream(REQUEST)]
    assert len(opened.drivers) == 3
    await drivers.aclose()


async def test_a_provider_that_is_not_there_is_told_as_such() -> None:
    """R12: a name that neither the team nor the worker has; a team's without key and address."""
    drivers = Drivers({}, open_driver)
    with pytest.raises(UserError, match="provider_missing"):
        drivers.get("acme")
    with pytest.raises(UserError, match="missing_provider_key") as refused:
        drivers.get("openai", ModelEndpoint("openai", None, None))
    assert "OPENAI_API_KEY" not in refused.value.message
    with pytest.raises(UserError, match="missing_provider_key"):
        drivers.get("openai")
    await drivers.aclose()


def test_an_endpoint_does_not_show_its_key() -> None:
    """C4: neither a tenant's nor the operator's."""
    for endpoint in (at("a", "sk-canary"), Endpoint(api_key="sk-canary", headers={"x-key": "sk-canary"})):
        assert "sk-canary" not in repr(endpoint)
        assert "sk-canary" not in str(endpoint)
        assert "sk-canary" not in str(endpoint.__rich_repr__())
