"""The store port: where runs and their logs live. `AgentRunRepository` is implemented in db/.

A run's log is its frames (what clients see) and its turn records (what only the engine reads).
"""

from collections.abc import Awaitable, Iterator, Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import UNSET, Struct, field, structs

from agio.core.model import StopReason, Usage, VendorTurn
from agio.errors import StoreError, UserError
from agio.protocol.codec import decode_lines, encode
from agio.protocol.events import AgentEvent, Interrupt, RunStarted
from agio.protocol.frames import Frame
from agio.protocol.messages import Content, Message, RunAgentInput

RunStatus: TypeAlias = Literal[
    "queued", "running", "completed", "failed", "cancelled", "interrupted", "expired"
]
Effect: TypeAlias = Literal["read", "idempotent", "once"]
"""What doing a tool call twice means: nothing, nothing if the key is the same, or harm."""
Approval: TypeAlias = Literal["never", "ask"]
InterruptState: TypeAlias = Literal["open", "resolved", "cancelled", "expired"]
ENDED: frozenset[RunStatus] = frozenset({"completed", "failed", "cancelled", "interrupted", "expired"})


class TurnRecord(Struct, frozen=True):
    """A finished model turn. `seq` is the last event of the turn: the record stands right after it."""

    run_id: str
    step: int
    seq: int
    model: str
    stop: StopReason
    usage: Usage
    vendor: VendorTurn


class NewRun(Struct, frozen=True):
    """A run about to begin. `mark` fences untrusted text in the prompt and stays the same in a thread."""

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
    """Milliseconds since 1970; 0 is the time of the commit."""


class RunInfo(Struct, frozen=True):
    """A run as it is listed. Times are milliseconds since 1970."""

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
    """The thread's position of the event before this run's first: event seq has pos first_pos + seq."""
    error_code: str | None = None
    title: str = ""
    """The beginning of the user's message, for lists."""
    agent_id: str = ""
    alias: str | None = None
    """The run id an AG-UI client gave it."""
    cancel_requested: bool = False
    worker: str | None = None
    """Who claimed it last."""
    token_hash: bytes = b""
    """The hash of the token of the last claim: what a worker must show."""
    started_at: int | None = None
    goal_met: bool | None = None
    request_id: str = ""
    """The id of the request that began it: in every line of the log that is about it."""
    steps: int | None = None
    """This and the rest: what it used in all. None while it runs, and where nobody counted."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    """None without a price."""
    usage_partial: bool | None = None
    """Whether a model call did not tell what it used: tokens and cost are of the rest, or None."""
    error_message: str | None = None
    """Why it failed, in words; None where nobody kept them."""
    copied_from: str | None = None
    """The run it is a copy of, which was paid for once; empty if that is not known. None: it is no copy."""
    user_name: str = ""
    """The user's name now; this and the next are known where runs are looked up for people."""
    question: InterruptState | None = None
    """What became of what it asked a person; `open` as long as one question is."""


class RunLog(Struct, frozen=True):
    """The whole log of a run: the payloads of its frames joined, and its turn records in order."""

    info: RunInfo
    payload: bytes
    turns: list[TurnRecord] = field(default_factory=list[TurnRecord])

    @property
    def size_bytes(self) -> int:
        """How much it has: events and turn records."""
        return len(self.payload) + sum(len(encode(turn)) for turn in self.turns)

    def events(self) -> list[AgentEvent]:
        """Decode the events. Raises StoreError `store_corrupt` if they are not what agio wrote."""
        try:
            return decode_lines(self.payload)
        except UserError as error:
            raise self.damaged(error.message) from error

    def damaged(self, why: str) -> StoreError:
        """Return the error of a log that is not what agio wrote."""
        return StoreError(
            "store_corrupt",
            f"The stored log of run {self.info.run_id} is damaged ({why}) Restore a copy of the store.",
            {"run_id": self.info.run_id},
        )

    def slices(self, size_bytes: int) -> "Iterator[RunLog]":
        """Cut the events into logs of about this size, of one event at least, and without turn records."""
        at = 0
        while at < len(self.payload):
            end = self.payload.find(b"\n", at + size_bytes - 1) + 1 or len(self.payload)
            yield RunLog(self.info, self.payload[at:end])
            at = end

    def input(self) -> RunAgentInput | None:
        """What the run was given by its client: its first event has it. Raises StoreError `store_corrupt`."""
        first = structs.replace(self, payload=self.payload.partition(b"\n")[0]).events()
        if not first or not isinstance(first[0], RunStarted) or first[0].input is UNSET:
            return None
        return first[0].input


class ToolRecord(Struct, frozen=True):
    """What is known of a tool call that must happen once: its result, or None while it is under way."""

    content: Content | None
    error: str | None = None


class ToolBegin(Struct, frozen=True):
    """A tool call that is about to act. `key` is the call's id, which is made of run, step and index."""

    key: str
    tool: str
    effect: Effect = "once"


class ToolEnd(Struct, frozen=True):
    """That a tool call has its result, which is in the log; `error` is its code if it failed."""

    key: str
    error: str | None = None


class Question(Struct, frozen=True):
    """An interrupt a run ends with, and the call it is about."""

    interrupt: Interrupt
    tool: str
    arguments: str


class Totals(Struct, frozen=True):
    """What a run used in all, whoever ran it. Tokens are None if no model call told, `cost` also without a price."""

    steps: int
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None = None
    partial: bool = False
    """Whether a model call did not tell: the figures are of the rest."""


class Outcome(Struct, frozen=True):
    """What a run leaves beside its log when it ends."""

    messages: Sequence[Message] = ()
    """What it added to the conversation, and told in between."""
    questions: Sequence[Question] = ()
    pending: Sequence[str] = ()
    """Client-side calls whose results are expected."""
    goal_met: bool | None = None
    totals: Totals | None = None
    """None: its log cannot be read."""
    ended_at: int | None = None
    """When, as its last event says."""


class Append(Struct, frozen=True):
    """One write to a run's log: a frame, the turns it finishes, and the run's end if it is its last.

    `create` makes the run in the same commit, if this is its first write. `begins` are tool calls that are
    about to act: as `begin_tool` for calls that cannot have begun before. `ends` are those whose results
    are in the frame.
    """

    frame: Frame
    turns: Sequence[TurnRecord] = ()
    end: RunStatus | None = None
    error_code: str | None = None
    create: NewRun | None = None
    begins: Sequence[ToolBegin] = ()
    ends: Sequence[ToolEnd] = ()
    outcome: Outcome | None = None
    """With `end`."""
    error_message: str | None = None
    """With `error_code`: the words of the run's last event."""


class ToolRecords(Protocol):
    """What is known of tool calls that must happen once."""

    async def begin_tool(
        self,
        run_id: str,
        key: str,
        *,
        tool: str = "",
        effect: Effect = "once",
        epoch: int | None = None,
    ) -> ToolRecord | None:
        """Record that a call begins. None: go ahead. A record: it began before, here is what is known.

        With an `epoch` that is not the run's, raises StoreError `stale_epoch`.
        """
        ...

    async def end_tool(self, run_id: str, key: str, record: ToolRecord) -> None:
        """Record a call's result."""
        ...


class LogWriter(Protocol):
    """Where a run's log is written: all that the engine itself asks of a store."""

    def append(self, write: Append) -> Awaitable[None]:
        """Make a frame durable: what it returns is done after the commit, and carries any error.

        Taken only if the run is running under the frame's epoch and the frame's first seq is the
        next one; repeating a frame already stored changes nothing and succeeds. Raises StoreError
        `stale_epoch`, `sequence_gap`, `append_conflict`, `run_ended`, `run_exists`, `thread_busy`.
        """
        ...


class AgentRunRepository(LogWriter, ToolRecords, Protocol):
    """Runs and their logs. Every method raises StoreError when the store fails."""

    async def create_run(self, run: NewRun) -> RunInfo:
        """Add a running run.

        Raises StoreError `run_exists` if its id is taken, `thread_busy` if its thread has a running run.
        """
        ...

    async def claim_run(self, run_id: str) -> RunInfo:
        """Take over a running run: its epoch grows by one and whoever had it is fenced off.

        Raises UserError `run_not_found`, StoreError `run_ended`.
        """
        ...

    async def get_run(self, run_id: str) -> RunInfo:
        """Raises UserError `run_not_found`."""
        ...

    async def get_log(self, run_id: str, after: int = 0) -> RunLog:
        """The log after event `after`. Raises UserError `run_not_found`."""
        ...

    async def get_events(self, run_id: str, after: int = 0) -> list[AgentEvent]:
        """The events after `after`, as they were streamed. Raises UserError `run_not_found`."""
        ...

    async def list_runs(
        self,
        *,
        session_id: str | None = None,
        agent: str | None = None,
        before: str | None = None,
        limit: int = 50,
    ) -> list[RunInfo]:
        """Runs, newest first; `before` is the last run id of the page before."""
        ...

    async def close(self) -> None:
        """Write what is pending and let go of the files."""
        ...
