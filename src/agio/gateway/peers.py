"""Peers: this gateway among those that share its store, and what their workers offer.

What it says of the others is as old as its last look at the store, a few seconds at most.
"""

import random
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct, field

from agio.bus.bus import Bus
from agio.bus.memory import MemoryBus
from agio.core.link.link import ToolOffer
from agio.core.store.gateways import GatewayRecord


class WorkerOffer(Struct, frozen=True, kw_only=True):
    """What a worker of another gateway can do."""

    tenants: list[str] | None = None
    """The teams it may serve; None: all."""
    tools: list[ToolOffer] = field(default_factory=list[ToolOffer])
    providers: list[str] = field(default_factory=list[str])
    """The model providers it has an address or a key for."""

    def may_serve(self, tenant: str) -> bool:
        """Whether it may serve a team."""
        return self.tenants is None or tenant in self.tenants


_decode_offers = msgspec.json.Decoder(list[WorkerOffer]).decode


class Peers:
    """The other gateways. One that is alone on its store has no id, and a bus without another end."""

    def __init__(self, bus: Bus | None = None, gateway: str = "") -> None:
        self.bus: Bus = bus or MemoryBus()
        self.gateway = gateway
        """This gateway's id in the store; empty: it is the only one."""
        self._others: dict[str, Sequence[WorkerOffer]] = {}
        self._read: dict[str, bytes] = {}

    @property
    def live(self) -> int:
        """How many gateways share the store."""
        return len(self._others) + 1

    def is_other(self, gateway: str) -> bool:
        """Whether another gateway with this id is alive."""
        return gateway in self._others

    def update(self, alive: Sequence[GatewayRecord]) -> None:
        """Take the list of the gateways that are alive."""
        others: dict[str, Sequence[WorkerOffer]] = {}
        for each in alive:
            if each.id == self.gateway:
                continue
            same = self._read.get(each.id) == each.offers
            others[each.id] = self._others[each.id] if same else _read_offers(each.offers)
        self._others = others
        self._read = {each.id: each.offers for each in alive if each.id != self.gateway}

    def workers_for(self, tenant: str | None = None) -> Iterator[WorkerOffer]:
        """Yield the offers of the others' workers that may serve a team; None: of all."""
        for offers in self._others.values():
            for offer in offers:
                if tenant is None or offer.may_serve(tenant):
                    yield offer

    def gateway_for(self, tenant: str) -> str | None:
        """Return another gateway with a worker that may serve a team, or None."""
        fit = [
            gateway for gateway, offers in self._others.items() for offer in offers if offer.may_serve(tenant)
        ]
        return random.choice(fit) if fit else None  # noqa: S311 (spreads tasks)


def _read_offers(offers: bytes) -> Sequence[WorkerOffer]:
    try:
        return _decode_offers(offers)
    except msgspec.DecodeError:  # of a version that says it differently
        return ()
