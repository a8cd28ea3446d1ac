"""A worker that is connected to this gateway, and the runs it has claimed."""

import hashlib
import hmac
import time
from typing import TypeAlias

from msgspec import Struct, field, structs

from agio.core.identity.principal import DEFAULT_TENANT
from agio.core.link.link import Claim, Greeting, ToolOffer, Worker
from agio.core.log_level import PLAIN
from agio.core.store.records import AgentFields, AgentRecord, ClaimBy
from agio.core.store.repository import RunInfo
from agio.errors import ToolError
from agio.gateway.workers.greeting_check import MAX_ROOM

_OPERATORS = frozenset({DEFAULT_TENANT})


def hash_token(token: str) -> bytes:
    """Return what is kept of a run token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def fits(claim: Claim, epoch: int, token_hash: bytes) -> bool:
    """Whether a claim is the one with this epoch and token."""
    same = hmac.compare_digest(hash_token(claim.token), token_hash)
    return same and claim.epoch == epoch


class Permit(Struct, frozen=True):
    """What a worker was admitted with. The operator's own key, and a worker in this process, may run everything."""

    key: str = ""
    """The id of a worker key in the store; empty: the operator's."""
    tenants: frozenset[str] | None = None
    """The tenants whose runs it may get; None: all."""


WorkerKey: TypeAlias = tuple[Permit, str]
OPERATOR = Permit()
"""The operator's own key, or no key at all: a worker in this process."""


class RunAgent(Struct, frozen=True):
    """An agent of a run, and its tools by name."""

    agent: AgentRecord
    tools: dict[str, ToolOffer]


class ClaimedRun(Struct, eq=False, kw_only=True):
    """A run under a worker's claim: what its calls are checked against."""

    info: RunInfo
    """As of the claim."""
    agent: AgentRecord
    token_hash: bytes
    worker: "ConnectedWorker"
    tools: dict[str, ToolOffer]
    team: dict[str, RunAgent] = field(default_factory=dict[str, RunAgent])
    """The other agents that the run may use, by name."""
    last_seq: int
    """The last event that was published to readers."""
    delivered: bool = False
    """Whether the worker has got the job."""
    cancelled: bool = False
    begun: set[str] = field(default_factory=set[str])
    """Tool calls whose beginning was committed under this claim."""
    called: set[str] = field(default_factory=set[str])
    """Calls of the gateway's own tools under this claim."""
    claimed_at: float = field(default_factory=time.monotonic)
    asked_to_remember: bool = False
    """Whether its message asks to remember something."""
    speaking: bool = False
    """Whether the model has produced text or reasoning."""

    @property
    def members(self) -> list[RunAgent]:
        """All agents that the run may use."""
        return [RunAgent(self.agent, self.tools), *self.team.values()]

    def member(self, name: str) -> RunAgent:
        """Return an agent of the run by its name; empty: the run's own. Raises ToolError `tool_not_allowed`."""
        own = name in ("", self.agent.name)
        found = RunAgent(self.agent, self.tools) if own else self.team.get(name)
        if found is None:
            raise ToolError("tool_not_allowed", f"Run {self.info.run_id} has no agent {name}.")
        return found


class OrphanedRun(Struct):
    """A running run that no worker holds, and its agent once it is known."""

    info: RunInfo
    agent: AgentRecord | None = None
    given_back: bool = False
    """Whether its worker released it in good order."""


class ConnectedWorker:
    """What the gateway knows of one worker. It is kept for a grace period while the worker's link is closed."""

    def __init__(self, worker_id: str, permit: Permit = OPERATOR) -> None:
        self.id = worker_id
        self.permit = permit
        self.connection: Worker | None = None
        """None while its link is closed."""
        self.room = 0
        self.fields: list[AgentFields] = []
        """The agents its module defines."""
        self.agents: frozenset[str] = frozenset()
        """Their names."""
        self.tools: dict[str, ToolOffer] = {}
        self.providers: frozenset[str] = frozenset()
        """The model providers it has an address or a key for."""
        self.log_level = PLAIN
        """The newest log level that it knows."""
        self.runs: dict[str, ClaimedRun] = {}
        self.reserved = 0
        """Claims that are being made for it."""
        self.leaving = False
        self.beats = False
        """Whether it has sent a heartbeat, so that its silence means something."""
        self.relayed = False
        """Whether a load balancer brings its heartbeats to other gateways, which pass them on."""
        self.seen = time.monotonic()
        self.tasks = 0
        """Short model tasks it is performing."""
        self.link: object = None
        """The newest of its links: an older one that closes late means nothing."""

    def update(self, connection: Worker, greeting: Greeting) -> None:
        """Take the greeting of a worker that connects or reconnects."""
        self.connection = connection
        self.room = min(max(greeting.room, 0), MAX_ROOM)
        self.leaving = False
        self.take(greeting)

    def take(self, greeting: Greeting) -> None:
        """Take what a worker offers."""
        self.fields = greeting.agents
        self.agents = frozenset(agent.name for agent in greeting.agents)
        # A worker cannot declare a tool that runs at the gateway.
        self.tools = {tool.name: structs.replace(tool, kind="module") for tool in greeting.tools}
        self.providers = frozenset(greeting.providers)
        self.log_level = greeting.log_level

    @property
    def key(self) -> WorkerKey:
        """A worker's id is unique only together with its permit."""
        return self.permit, self.id

    @property
    def free(self) -> int:
        """How many more runs it takes."""
        if self.connection is None or self.leaving:
            return 0
        return self.room - len(self.runs) - self.reserved

    @property
    def code_tenants(self) -> frozenset[str]:
        """The tenants that have the agents its module defines."""
        return _OPERATORS if self.permit.tenants is None else self.permit.tenants

    def may_serve(self, tenant: str) -> bool:
        """Whether its permit covers this tenant."""
        return self.permit.tenants is None or tenant in self.permit.tenants

    def agents_for(self, tenant: str) -> list[str]:
        """Return the names of its module's agents that a tenant has."""
        return sorted(self.agents) if tenant in self.code_tenants else []

    def serves(self, agent: AgentRecord) -> bool:
        """Whether it can run this agent: one defined in code only if its module has it."""
        return self.may_serve(agent.tenant) and (
            agent.source != "code" or agent.name in self.agents_for(agent.tenant)
        )


class Slot(Struct, frozen=True):
    """Room reserved at a worker while a claim is made for it. The worker gets the token with the job."""

    worker: ConnectedWorker
    token: str
    by: ClaimBy
