"""The drivers a worker has open: one a provider, shared by all its runs."""

from collections.abc import Callable, Mapping

from agio.core.model import ModelDriver
from agio.drivers.endpoint import Endpoint
from agio.drivers.registry import open_driver


class Drivers:
    """Opens a provider's driver when it is first asked for, and keeps it. Endpoints are handed in."""

    def __init__(
        self,
        endpoints: Mapping[str, Endpoint],
        opener: Callable[[str, Endpoint], ModelDriver] = open_driver,
    ) -> None:
        self._endpoints = endpoints
        self._opener = opener
        self._open: dict[str, ModelDriver] = {}

    def get(self, provider: str) -> ModelDriver:
        """Return a provider's driver. Raises UserError `unknown_provider`, `missing_api_key`."""
        driver = self._open.get(provider)
        if driver is None:
            driver = self._open[provider] = self._opener(provider, self._endpoints.get(provider, Endpoint()))
        return driver

    async def aclose(self) -> None:
        """Close them all; each is opened again when it is asked for."""
        drivers, self._open = self._open, {}
        for driver in drivers.values():
            await driver.aclose()
