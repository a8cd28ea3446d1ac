"""The open drivers of a worker: one per provider of its own, and one per tenant endpoint.

The two are separate: a tenant's endpoint never takes missing values from the worker's environment.
"""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import TypeAlias

from agio.core.model import Embedded, Embedder, ModelDriver, ModelEvent, ModelLister, ModelRequest
from agio.core.provider import ModelEndpoint
from agio.drivers.endpoint import Endpoint
from agio.drivers.registry import open_driver
from agio.egress import Egress
from agio.errors import ModelError, UserError

Opener: TypeAlias = Callable[[str, Endpoint], ModelDriver]

_KEPT = 100
"""How many tenant drivers stay open."""
_IDLE_S = 300.0
"""How long an unused tenant driver stays open."""


class Drivers:
    """Opens drivers on first use and keeps them. Tenant endpoints arrive with a job.

    `egress` guards calls to tenant endpoints.
    """

    def __init__(
        self,
        endpoints: Mapping[str, Endpoint],
        opener: Opener = open_driver,
        egress: Egress | None = None,
    ) -> None:
        self._endpoints = endpoints
        self._opener = opener
        self._open: dict[str, ModelDriver] = {}
        self._tenants = TenantDrivers(opener, egress or Egress())

    def providers(self) -> list[str]:
        """The providers with an address or a key."""
        return [name for name, end in self._endpoints.items() if end.api_key or end.base_url]

    def get(self, provider: str, endpoint: ModelEndpoint | None = None) -> ModelDriver:
        """Return the driver of a tenant's endpoint, or of the worker's own provider.

        Raises UserError `provider_missing`, `missing_provider_key`, `invalid_base_url`.
        """
        if endpoint is not None:
            return self._tenants.get(endpoint)
        driver = self._open.get(provider)
        if driver is None:
            driver = self._open[provider] = self._open_own(provider)
        return driver

    async def aclose(self) -> None:
        """Close all drivers; each reopens on its next use."""
        drivers, self._open = self._open, {}
        for driver in drivers.values():
            await driver.aclose()
        await self._tenants.aclose()

    def _open_own(self, provider: str) -> ModelDriver:
        try:
            return self._opener(provider, self._endpoints.get(provider, Endpoint()))
        except UserError as error:
            if error.code != "unknown_provider":
                raise
            raise UserError(
                "provider_missing",
                f"The model provider {provider} of this agent is not there: it was deleted or renamed. "
                "Choose another one for the agent.",
                {"provider": provider},
            ) from error


class TenantDrivers:
    """Guarded drivers of tenant endpoints. The least recently used are closed, never one in use."""

    def __init__(self, opener: Opener, egress: Egress, *, kept: int = _KEPT, idle_s: float = _IDLE_S) -> None:
        self._opener = opener
        self._egress = egress
        self._max = kept
        self._idle_s = idle_s
        self._open: OrderedDict[bytes, _Kept] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def get(self, endpoint: ModelEndpoint) -> ModelDriver:
        """Return a driver for an endpoint. Raises UserError `missing_provider_key`, `invalid_base_url`."""
        return _Borrowed(self, endpoint, self.take(endpoint).driver.wire)

    def take(self, endpoint: ModelEndpoint) -> "_Kept":
        """Return the open driver of an endpoint; open it if needed."""
        name = _name_of(endpoint)
        kept = self._open.get(name)
        if kept is None:
            kept = self._open[name] = _Kept(self._open_driver(endpoint))
        self._open.move_to_end(name)
        kept.used_at = asyncio.get_running_loop().time()
        return kept

    async def tidy(self) -> None:
        """Close drivers past the idle time, and the oldest above the limit."""
        oldest = asyncio.get_running_loop().time() - self._idle_s
        excess = len(self._open) - self._max
        for name, kept in list(self._open.items()):
            if excess <= 0 and kept.used_at > oldest:
                break
            if not kept.users and self._open.pop(name, None) is not None:
                excess -= 1
                await kept.driver.aclose()

    async def aclose(self) -> None:
        """Close all drivers."""
        drivers, self._open = self._open, OrderedDict()
        for kept in drivers.values():
            await kept.driver.aclose()
        await self._egress.aclose()

    def _open_driver(self, endpoint: ModelEndpoint) -> ModelDriver:
        if endpoint.base_url is None and not (endpoint.api_key or "").strip():
            raise UserError(
                "missing_provider_key",
                "The model provider of this agent has neither an API key nor a base URL: give it one.",
            )
        return self._opener(
            endpoint.kind,
            Endpoint(base_url=endpoint.base_url, api_key=endpoint.api_key, guard=self._egress),
        )


class _Kept:
    """An open driver, the number of streams that use it, and its last use."""

    def __init__(self, driver: ModelDriver) -> None:
        self.driver = driver
        self.users = 0
        self.used_at = 0.0


class _Borrowed:
    """A driver for one run: it holds the shared driver only while a stream is open."""

    def __init__(self, drivers: TenantDrivers, endpoint: ModelEndpoint, wire: str) -> None:
        self._drivers = drivers
        self._endpoint = endpoint
        self.wire = wire

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[ModelEvent], None]:
        async with self._held() as driver, aclosing(driver.stream(request)) as stream:
            async for events in stream:
                yield events

    async def models(self) -> list[str]:
        """List the service's models. Raises ModelError."""
        async with self._held() as driver:
            return await list_models(driver)

    async def embed(self, model: str, texts: Sequence[str], size: int | None) -> Embedded:
        """Make vectors of texts. Raises ModelError."""
        async with self._held() as driver:
            return await embed(driver, model, texts, size)

    async def aclose(self) -> None:
        """Do nothing: the drivers close with the worker."""

    @asynccontextmanager
    async def _held(self) -> AsyncGenerator[ModelDriver]:
        kept = self._drivers.take(self._endpoint)
        kept.users += 1
        try:
            await self._drivers.tidy()
            yield kept.driver
        finally:
            kept.users -= 1


async def list_models(driver: ModelDriver) -> list[str]:
    """List the models of a driver's service. Raises ModelError, `model_not_found` if there is no list."""
    if not isinstance(driver, ModelLister):
        raise ModelError("model_not_found", "This provider has no list of its models.")
    return await driver.models()


async def embed(driver: ModelDriver, model: str, texts: Sequence[str], size: int | None) -> Embedded:
    """Have a driver's service make vectors. Raises ModelError, `model_not_found` if it makes none."""
    if not isinstance(driver, Embedder):
        raise ModelError("model_not_found", "This provider makes no vectors of texts.")
    return await driver.embed(model, texts, size)


def _name_of(endpoint: ModelEndpoint) -> bytes:
    """Return a digest that identifies an endpoint without revealing its key."""
    parts = (endpoint.kind, endpoint.base_url or "", endpoint.api_key or "")
    marked = [bytes([part is None for part in (endpoint.base_url, endpoint.api_key)])]
    marked += [hashlib.sha256(part.encode()).digest() for part in parts]
    return hashlib.sha256(b"".join(marked)).digest()
