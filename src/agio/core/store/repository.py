"""The store port of runs and their logs. `AgentRunRepository` is implemented in db/.

A run's log has frames, which clients see, and turn records, which only the engine reads.
"""

from collections.abc import Awaitable, Iterator, Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import UNSET, Struct, field, structs

from agio.core.log_level import PLAIN
from agio.core.model import StopReason, Usage, VendorTurn
from agio.errors import StoreError, UserError
from agio.protocol.codec import decode_lines, encode
from agio.protocol.events import AgentEvent, Interrupt, RunStarted
from agio.protocol.frames import Frame
from agio.protocol.messages import Content, Message, RunAgentInput, UserMessage

RunStatus: TypeAlias = Literal[
    "queued", "running", "completed", "failed", "cancelled", "interrupted", "expired"
]
Effect: TypeAlias = Literal["read", "idempotent", "once"]
"""The effect of repeating a tool call: none, none with the same key, or a second effect that must be avoided."""
Approval: TypeAlias = Literal["never", "ask"]
InterruptState: TypeAlias = Literal["open", "resolved", "cancelled", "expired"]
ENDED: frozenset[RunStatus] = frozenset({"completed", "failed", "cancelled", "interrupted", "expired"})


class TurnRecord(Struct, frozen=True):
    """A finished model turn. The record follows event `seq`, the last event of the turn."""

    run_id: str
    step: int
    seq: int
    model: str
    stop: StopReason
    usage: Usage
    vendor: VendorTurn
    lane: str = ""
    """The lane of the sub-agent whose turn it is; empty for the run's agent."""
    digest: str = ""
    """The digest of the model request that it answers."""
    context: list[str] = field(default_factory=list[str])
    """The ids of the memories and documents in that request."""


class NewRun(Struct, frozen=True):
    """A run to create. `mark` delimits untrusted text in the prompt; all runs of a thread share it."""

    run_id: str
    session_id: str
    agent: str
    model: str
    mark: str
    tenant: str = "default"
    user: str = "local"
    epoch: int = 1
    title: str = ""
    """The beginning of the user's message, for lists."""
    created_at: int = 0
    """Milliseconds since 1970; 0: the time of the commit."""


class RunInfo(Struct, frozen=True):
    """A run's metadata. Times are milliseconds since 1970."""

    run_id: str
    session_id: str
    agent: str
    model: str
    status: RunStatus
    epoch: int
    last_seq: int
    created_at: int
    ended_at: int | None
    mark: str
    tenant: str
    user: str
    first_pos: int
    """The thread's position of the event before this run's first: event `seq` has position `first_pos + seq`."""
    error_code: str | None = None
    title: str = ""
    """The beginning of the user's message, for lists."""
    agent_id: str = ""
    alias: str | None = None
    """The run id that an AG-UI client assigned."""
    cancel_requested: bool = False
    worker: str | None = None
    """The worker of the last claim."""
    token_hash: bytes = b""
    """The hash of the last claim's token, which the worker must present."""
    started_at: int | None = None
    goal_met: bool | None = None
    request_id: str = ""
    """The id of the request that started it. Every log line about the run has it."""
    steps: int | None = None
    """The run's steps; None while it runs, or if they were not recorded."""
    input_tokens: int | None = None
    """The tokens of its model calls so far. This and the next three are None before the first call's usage."""
    output_tokens: int | None = None
    cost: float | None = None
    """The cost; None without a price."""
    usage_partial: bool | None = None
    """Whether a model call reported no usage. Tokens and cost then cover the other calls, or are None."""
    error_message: str | None = None
    """The error message of a failed run; None if it was not recorded."""
    copied_from: str | None = None
    """The run it was copied from, which alone is billed; empty if unknown. None: it is not a copy."""
    parent_run_id: str | None = None
    """The run it continues; None: it is the first of its path, or has not begun."""
    parent_seq: int | None = None
    """The parent's last event."""
    branched: bool = False
    """Whether the runs before it on its path are not just the session's earlier ones."""
    definition: str | None = None
    """The digest of the definition it runs, pinned at its first claim; None: it was not recorded."""
    log_level: int = PLAIN
    """What a reader of its log must know: see `core.log_level`."""
    active_agent: str = ""
    """The agent to which it was handed over last; empty: its own."""
    traceparent: str = ""
    """The W3C trace context that it continues; empty: none is passed on."""
    gateway: str = ""
    """The gateway that holds its claim; empty: the only one, or none."""
    user_name: str = ""
    """The user's current name. Only queries for people fill in this field and the next."""
    question: InterruptState | None = None
    """The state of the run's questions to a person; `open` while one of them is open."""


class RunLog(Struct, frozen=True):
    """The log of a run: the joined payloads of its frames, and its turn records in order."""

    info: RunInfo
    payload: bytes
    turns: list[TurnRecord] = field(default_factory=list[TurnRecord])

    @property
    def size_bytes(self) -> int:
        """The size of events and turn records."""
        return len(self.payload) + sum(len(encode(turn)) for turn in self.turns)

    def events(self) -> list[AgentEvent]:
        """Decode the events. Raises StoreError `store_corrupt` if they are damaged."""
        try:
            return decode_lines(self.payload)
        except UserError as error:
            raise self.damaged(error.message) from error

    def damaged(self, why: str) -> StoreError:
        """Return the error for a damaged log."""
        return StoreError(
            "store_corrupt",
            f"The stored log of run {self.info.run_id} is damaged ({why}) Restore a copy of the store.",
            {"run_id": self.info.run_id},
        )

    def slices(self, size_bytes: int) -> "Iterator[RunLog]":
        """Split the events into logs of about this size, each with at least one event and without turn records."""
        at = 0
        while at < len(self.payload):
            end = self.payload.find(b"\n", at + size_bytes - 1) + 1 or len(self.payload)
            yield RunLog(self.info, self.payload[at:end])
            at = end

    def input(self) -> RunAgentInput | None:
        """Return the client's input, which the run's first event carries. Raises StoreError `store_corrupt`."""
        first = structs.replace(self, payload=self.payload.partition(b"\n")[0]).events()
        if not first or not isinstance(first[0], RunStarted) or first[0].input is UNSET:
            return None
        return first[0].input


class ToolRecord(Struct, frozen=True):
    """The state of a tool call that must happen once: its result, or None while it is in progress."""

    content: Content | None
    error: str | None = None


class ToolBegin(Struct, frozen=True):
    """A tool call that is about to act. `key` is the call's id, made of run, step and index."""

    key: str
    tool: str
    effect: Effect = "once"
    lane: str = ""
    """The lane of the sub-agent that calls; empty for the run's agent."""


class ToolEnd(Struct, frozen=True):
    """The end of a tool call whose result is in the log. `error` is its code if it failed."""

    key: str
    error: str | None = None


class Question(Struct, frozen=True):
    """An interrupt that a run ends with, and the tool call it is about."""

    interrupt: Interrupt
    tool: str
    arguments: str


class Charge(Struct, frozen=True):
    """What an append adds to its run's usage. A run's totals are the sums of its charges.

    Tokens are None if a model call did not report its usage; `cost` is None then too, and without a price.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    partial: bool = False
    """Whether a model call reported no usage, so that the totals cover only the other calls."""


class Outcome(Struct, frozen=True):
    """The records that a run leaves besides its log when it ends."""

    messages: Sequence[Message] = ()
    """The messages it added to the conversation, including interim ones."""
    questions: Sequence[Question] = ()
    pending: Sequence[str] = ()
    """The ids of client-side calls whose results are expected."""
    active_agent: str = ""
    """The name of the agent that the conversation was handed to; empty: the session's."""
    needed: int | None = None
    """How many messages before the run its agent still sees, where it summarised the others; None: all."""
    goal_met: bool | None = None
    steps: int | None = None
    """The number of its steps; None: its log cannot be read."""
    ended_at: int | None = None
    """The time of its last event."""


class RunInput(Struct, frozen=True):
    """A user's message for a run that has begun. `idx` is its place among the run's input."""

    idx: int
    message: UserMessage


class Append(Struct, frozen=True):
    """One write to a run's log: a frame, the turns it finishes, and the run's end with the last write.

    `create` creates the run in the same commit, with its first write. `begins` are tool calls that are about to act:
    as `begin_tool`, for calls that cannot have begun before. `ends` are the calls whose results are in the frame.
    """

    frame: Frame
    turns: Sequence[TurnRecord] = ()
    end: RunStatus | None = None
    error_code: str | None = None
    create: NewRun | None = None
    begins: Sequence[ToolBegin] = ()
    ends: Sequence[ToolEnd] = ()
    outcome: Outcome | None = None
    """What the run leaves; only with `end`."""
    error_message: str | None = None
    """The message of the run's last event; only with `error_code`."""
    level: int = PLAIN
    """What a reader of the log must know from this append on: see `core.log_level`."""
    charge: Charge | None = None
    consumed: int = 0
    """The `idx` of the newest input that the frame has; 0: it has none."""
    extract_in_ms: int | None = None
    """With `end`, after which time the session's memories are extracted. The gateway sets it, not the worker."""
    sinks: list[str] = field(default_factory=list[str])
    """Where the ended run's trace is to be sent: set by the store, only with `end`."""

    @property
    def is_frame_only(self) -> bool:
        """Whether it writes events and nothing else."""
        kept = self.turns or self.begins or self.ends or self.charge or self.consumed or self.create
        return not kept and self.end is None and self.level == PLAIN


class ToolRecords(Protocol):
    """The records of tool calls that must happen once."""

    async def begin_tool(
        self,
        run_id: str,
        key: str,
        *,
        tool: str = "",
        effect: Effect = "once",
        epoch: int | None = None,
        lane: str = "",
    ) -> ToolRecord | None:
        """Record the start of a call. Returns None if the call may act, or its record if it began before.

        With an `epoch` that is not the run's, raises StoreError `stale_epoch`.
        """
        ...

    async def end_tool(self, run_id: str, key: str, record: ToolRecord) -> None:
        """Record a call's result."""
        ...


class LogWriter(Protocol):
    """Write access to a run's log: all that the engine needs of a store."""

    def append(self, write: Append) -> Awaitable[bool | None]:
        """Make a frame durable. The returned awaitable completes after the commit, and raises its error.

        True: the run is to be cancelled; False and None: that is not known here.

        A frame is accepted only if the run is running under the frame's epoch and the frame's first seq is the next
        one. Repeating a stored frame changes nothing and succeeds. Raises StoreError `stale_epoch`, `sequence_gap`,
        `append_conflict`, `run_ended`, `run_exists`, `thread_busy`.
        """
        ...


class AgentRunRepository(LogWriter, ToolRecords, Protocol):
    """The store of runs and their logs. Every method raises StoreError when the store fails."""

    async def create_run(self, run: NewRun) -> RunInfo:
        """Add a running run.

        Raises StoreError `run_exists` if its id is taken, `thread_busy` if its thread has a running run.
        """
        ...

    async def claim_run(self, run_id: str) -> RunInfo:
        """Take over a running run. Its epoch grows by one, which fences off the previous claimant.

        Raises UserError `run_not_found`, StoreError `run_ended`.
        """
        ...

    async def get_run(self, run_id: str) -> RunInfo:
        """Return a run's metadata. Raises UserError `run_not_found`."""
        ...

    async def get_log(self, run_id: str, after: int = 0) -> RunLog:
        """Return the log after event `after`. Raises UserError `run_not_found`."""
        ...

    async def get_events(self, run_id: str, after: int = 0) -> list[AgentEvent]:
        """Return the events after `after`, as they were streamed. Raises UserError `run_not_found`."""
        ...

    async def list_runs(
        self,
        *,
        session_id: str | None = None,
        agent: str | None = None,
        before: str | None = None,
        limit: int = 50,
    ) -> list[RunInfo]:
        """List runs, newest first; `before` is the last run id of the previous page."""
        ...

    async def close(self) -> None:
        """Complete pending writes and close the store."""
        ...
