"""What this gateway knows of its workers: who they are, what room they have, and which runs they hold."""

import hashlib
import hmac
import time
from typing import TypeAlias

from msgspec import Struct, field, structs

from agio.core.identity.principal import DEFAULT_TENANT
from agio.core.link.link import Claim, Greeting, ToolOffer, Worker
from agio.core.store.records import AgentFields, AgentRecord, ClaimBy
from agio.core.store.repository import RunInfo
from agio.errors import StoreError

MAX_ROOM = 1000
"""How many runs a worker takes at once at most, whatever it says."""
_OPERATORS = frozenset({DEFAULT_TENANT})


def hash_token(token: str) -> bytes:
    """Return what is kept of a run token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


class Permit(Struct, frozen=True):
    """What a worker was let in with. The operator's own key, and a worker in this process, may run everything."""

    key: str = ""
    """The id of a worker key that is kept in the store; empty: the operator's."""
    tenants: frozenset[str] | None = None
    """Whose runs it may be given; None: every tenant's."""


SeatKey: TypeAlias = tuple[Permit, str]
OPERATOR = Permit()
"""The operator's own key, or no key at all: a worker in this process."""


class HeldRun(Struct, eq=False, kw_only=True):
    """A run under a worker's claim: what its calls are checked against."""

    info: RunInfo
    """As of the claim."""
    agent: AgentRecord
    token_hash: bytes
    seat: "Seat"
    tools: dict[str, ToolOffer]
    last_seq: int
    """The last event that was shown to readers."""
    delivered: bool = False
    """Whether the worker has been given the job."""
    cancelled: bool = False
    begun: set[str] = field(default_factory=set[str])
    """Calls whose beginning was committed under this claim."""
    called: set[str] = field(default_factory=set[str])
    """Those of the gateway's own tools that were called under it."""
    claimed_at: float = field(default_factory=time.monotonic)
    speaking: bool = False
    """Whether the model has said something."""


class Seat:
    """A worker's place at the gateway. It stays while the worker's link is being mended."""

    def __init__(self, worker_id: str, permit: Permit = OPERATOR) -> None:
        self.id = worker_id
        self.permit = permit
        self.worker: Worker | None = None
        """None while its link is closed."""
        self.room = 0
        self.fields: list[AgentFields] = []
        """The agents its module defines, and their names."""
        self.agents: frozenset[str] = frozenset()
        self.tools: dict[str, ToolOffer] = {}
        self.providers: frozenset[str] = frozenset()
        """The model providers it has an address or a key for."""
        self.runs: dict[str, HeldRun] = {}
        self.reserved = 0
        """Claims that are being made for it."""
        self.leaving = False
        self.beats = False
        """Whether it has a heartbeat, so that its silence means something."""
        self.seen = time.monotonic()
        self.tasks = 0
        """Short jobs it is doing."""
        self.link: object = None
        """The newest of its links: an older one that closes late means nothing."""

    def sit(self, worker: Worker, greeting: Greeting) -> None:
        """Take in what the worker says of itself, when it comes and when it comes back."""
        self.worker = worker
        self.room = min(max(greeting.room, 0), MAX_ROOM)
        self.fields = greeting.agents
        self.agents = frozenset(agent.name for agent in greeting.agents)
        # Whatever it says of them: what runs at the gateway is the gateway's to offer.
        self.tools = {tool.name: structs.replace(tool, kind="module") for tool in greeting.tools}
        self.providers = frozenset(greeting.providers)
        self.leaving = False

    @property
    def key(self) -> "SeatKey":
        """What tells it from the others: a worker's id means something together with its key."""
        return self.permit, self.id

    @property
    def free(self) -> int:
        """How many more runs it takes."""
        if self.worker is None or self.leaving:
            return 0
        return self.room - len(self.runs) - self.reserved

    @property
    def code_tenants(self) -> frozenset[str]:
        """The tenants that have the agents its module defines."""
        return _OPERATORS if self.permit.tenants is None else self.permit.tenants

    def may_serve(self, tenant: str) -> bool:
        """Whether it may be given anything of this tenant's."""
        return self.permit.tenants is None or tenant in self.permit.tenants

    def agents_for(self, tenant: str) -> list[str]:
        """The agents of its module that a tenant has, by name."""
        return sorted(self.agents) if tenant in self.code_tenants else []

    def serves(self, agent: AgentRecord) -> bool:
        """Whether it can run this agent: one defined in code only if its module has it."""
        return self.may_serve(agent.tenant) and (
            agent.source != "code" or agent.name in self.agents_for(agent.tenant)
        )


class Slot(Struct, frozen=True):
    """Room kept at a worker while a claim is made for it. The token is in nobody's hands yet."""

    seat: Seat
    token: str
    by: ClaimBy


class Workers:
    """The workers of this gateway and the runs they hold."""

    def __init__(self) -> None:
        self.seats: dict[SeatKey, Seat] = {}
        self.runs: dict[str, HeldRun] = {}

    def with_room(self) -> list[Seat]:
        """Return the workers that take another run, the one with the most room first."""
        return sorted((seat for seat in self.seats.values() if seat.free > 0), key=lambda seat: -seat.free)

    def choose(self, tenant: str, agent: AgentRecord | None = None) -> Seat | None:
        """Return the worker with the most room, of those that may serve the tenant and can run the agent."""
        fit = (
            seat
            for seat in self.seats.values()
            if seat.free > 0 and seat.may_serve(tenant) and (agent is None or seat.serves(agent))
        )
        return max(fit, key=lambda seat: seat.free, default=None)

    def tools_for(self, tenant: str) -> dict[str, ToolOffer]:
        """Return the tools of the workers that may serve a tenant, by name."""
        known: dict[str, ToolOffer] = {}
        for seat in self.seats.values():
            if seat.may_serve(tenant):
                known |= seat.tools
        return known

    def hold(self, held: HeldRun) -> None:
        """Note a run under its new claim; whoever had it must let go."""
        before = self.runs.get(held.info.run_id)
        if before is not None:
            self.drop(before)
        self.runs[held.info.run_id] = held
        held.seat.runs[held.info.run_id] = held

    def let_go(self, held: HeldRun) -> bool:
        """Forget a run's claim. False if it was forgotten before."""
        run_id = held.info.run_id
        if self.runs.get(run_id) is not held:
            return False
        del self.runs[run_id]
        held.seat.runs.pop(run_id, None)
        return True

    def drop(self, held: HeldRun) -> None:
        """Forget a run's claim and tell its worker to let go of it."""
        if self.let_go(held) and held.seat.worker is not None:
            held.seat.worker.drop(held.info.run_id, held.info.epoch)

    def check(self, claim: Claim, seat: Seat) -> HeldRun:
        """Return the run a claim is good for. Raises StoreError `stale_epoch`."""
        held = self.runs.get(claim.run_id)
        if held is None or not fits(claim, held.info.epoch, held.token_hash) or held.seat is not seat:
            raise StoreError(
                "stale_epoch",
                f"Run {claim.run_id} is not this worker's any more.",
                {"run_id": claim.run_id, "epoch": claim.epoch},
            )
        return held


def fits(claim: Claim, epoch: int, token_hash: bytes) -> bool:
    """Whether a claim is the one with this epoch and token."""
    same = hmac.compare_digest(hash_token(claim.token), token_hash)
    return same and claim.epoch == epoch
