"""Every limit of a run and of a server, in one place."""

from collections.abc import Mapping
from typing import Annotated, TypeAlias, cast

import msgspec
from msgspec import Meta, Struct, field

from agio.core.model import ModelSettings
from agio.errors import UserError

_RETRIES: Mapping[str, int] = {
    "rate_limited": 6,
    "model_overloaded": 5,
    "model_unavailable": 3,
    "connection_failed": 3,
    "too_many_open_files": 8,
    "stream_broken": 3,
    "invalid_response": 1,
    "first_token_timeout": 1,
    "idle_timeout": 2,
}


Count: TypeAlias = Annotated[int, Meta(ge=1)]
CountOrNone: TypeAlias = Annotated[int, Meta(ge=0)]
Seconds: TypeAlias = Annotated[float, Meta(ge=0)]


class Price(Struct, frozen=True):
    """The price of a million tokens of a model, in the currency of your choice."""

    input: float
    output: float
    cached_input: float | None = None


class AgentRunConfig(Struct, frozen=True, kw_only=True):
    """The limits and settings of a run. The defaults suit a chat."""

    max_steps: Count = 50
    max_tokens: Count | None = None
    """Input and output tokens of all model calls together; None means no limit."""
    run_timeout_s: Seconds = 3600.0
    turn_timeout_s: Seconds = 600.0
    first_token_timeout_s: Seconds = 60.0
    idle_timeout_s: Seconds = 30.0
    tool_timeout_s: Seconds = 60.0
    approval_timeout_s: Seconds = 7 * 24 * 3600.0
    cancel_grace_s: Seconds = 0.5
    """How long a tool may take to react to its cancel signal, and then to its cancellation."""

    retries: Mapping[str, int] = field(default_factory=lambda: dict(_RETRIES))
    """The number of retries of a model call, by error code. A code that is not listed is not retried."""
    backoff_s: Seconds = 0.5
    max_backoff_s: Seconds = 30.0
    max_retry_after_s: Seconds = 120.0
    """The longest Retry-After that is honoured; a longer one fails the call."""

    tool_concurrency: Count = 8
    max_bad_arguments: CountOrNone = 3
    """The number of calls with invalid arguments the model may make in a run."""
    max_output_corrections: CountOrNone = 2
    max_tool_result_bytes: Count = 64 * 1024
    max_tool_tokens: Count = 10_000
    """The estimated tokens of all tools' declarations, past which MCP tools are found with `find_tools`."""

    context_tokens: Count = 120_000
    max_history_messages: CountOrNone = 200
    compact_at_tokens: CountOrNone | None = None
    """The size of a prompt past which older messages are summarised; None: 80 % of `context_tokens`, 0: never."""
    max_rag_docs: CountOrNone = 8
    max_document_tokens: CountOrNone = 8000
    """The documents of an agent are in its prompt as a whole if they have no more tokens, else the best passages."""
    max_memories: CountOrNone = 20
    memory_update_async: bool = True

    max_message_bytes: Count = 256 * 1024
    max_event_bytes: Count = 256 * 1024
    max_turn_bytes: Count = 32 * 1024 * 1024
    """The size of one turn's events in the log. An answer of 100,000 tokens has about 20 MiB."""
    max_run_bytes: Count = 64 * 1024 * 1024
    """The size of a run's log: its events and its turn records."""
    max_image_bytes: Count = 5 * 1024 * 1024
    """The size of an image in a message. A larger image is left out, with a note to the model."""
    max_attachment_bytes: Count = 14 * 1024 * 1024
    """The images and documents of one model call, counted in base64 as vendors do. The newest are kept first."""
    max_text_file_bytes: Count = 64 * 1024
    """The number of bytes of a text file that the model gets."""

    @property
    def compact_at(self) -> int:
        """The size of a prompt past which older messages are summarised; 0: never."""
        if self.compact_at_tokens is None:
            return self.context_tokens * 4 // 5
        return min(self.compact_at_tokens, self.context_tokens)

    model: ModelSettings = ModelSettings()
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    """Prices by `provider:model`. A model with a price has a cost in the metrics."""


class AgentLimits(Struct, frozen=True, kw_only=True):
    """An agent's limits, named as in `AgentRunConfig`; null: the server's default."""

    run_timeout_s: float | None = None
    turn_timeout_s: float | None = None
    tool_timeout_s: float | None = None
    max_tokens: int | None = None
    context_tokens: int | None = None
    max_history_messages: int | None = None
    compact_at_tokens: int | None = None
    max_tool_tokens: int | None = None
    max_document_tokens: int | None = None
    max_memories: int | None = None
    memory_update_async: bool | None = None

    def said(self) -> dict[str, float | int]:
        """Return the limits that are set, by name."""
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: value for name, value in values.items() if value is not None}


class ServerLimits(Struct, frozen=True, kw_only=True):
    """The limits of a server: what it accepts, runs concurrently and buffers for readers."""

    json_body_bytes: int = 1024 * 1024
    ag_ui_body_bytes: int = 16 * 1024 * 1024
    json_depth: int = 32
    file_bytes: int = 25 * 1024 * 1024
    document_bytes: int = 50 * 1024 * 1024
    """The size of a document."""
    document_seconds: float = 300.0
    """How long reading a document may take."""
    document_memory_bytes: int = 1024 * 1024 * 1024
    """How much memory the program that reads a document may use."""
    document_unpacked_bytes: int = 512 * 1024 * 1024
    """How much a zipped document may unpack to."""
    unused_files: int = 200
    """The number of a user's files that no message refers to."""
    unused_file_bytes: int = 500 * 1024 * 1024
    running_per_user: int = 3
    """The number of sessions in which a person may have running runs. Runs of API keys are counted separately."""
    running_per_key: int = 50
    """The same limit for one API key."""
    running_per_tenant: int = 200
    running_per_worker: int = 50
    queued_per_tenant: int = 1000
    queued_per_user: int = 100
    reader_window_events: int = 256
    reader_window_bytes: int = 1024 * 1024
    page_bytes: int = 1024 * 1024
    """The size of a page of messages. A message that is larger gets a page of its own."""
    snapshot_bytes: int = 4 * 1024 * 1024
    """The size of an AG-UI snapshot of a thread, which has the newest messages."""
    subscriptions_per_socket: int = 50
    streams_per_credential: int = 1000
    """The number of sockets and event streams a credential may have open at a gateway."""
    in_flight_bytes_per_credential: int = 64 * 1024 * 1024
    """Requests being received and responses being sent at a gateway. Those without a credential count by address."""
    write_timeout_s: float = 30.0
    """A reader that accepts no bytes of a response for this long is disconnected."""
    open_connections: int = 10_000
    """Connections at a gateway; at most three quarters of its file descriptor limit."""
    keep_alive_s: float = 15.0
    """How long a stream may be silent before a keep-alive comment is sent."""
    drain_s: float = 25.0

    heartbeat_s: float = 10.0
    """The interval of a worker's heartbeats."""
    silence_s: float = 30.0
    """How long a worker may be silent before its runs are given to other workers."""
    worker_silence_s: float = 20.0
    """How long a worker may go without an answer before it stops its own runs."""
    link_grace_s: float = 2.0
    """How long a worker may take to reconnect after its link closed."""
    cancel_s: float = 5.0
    """How long a worker may take to end a cancelled run before the gateway ends it."""
    queue_timeout_s: float = 24 * 3600.0
    tick_s: float = 5.0
    """The interval at which the queue is polled, in addition to the bus's signals."""
    sweep_s: float = 60.0
    """The interval at which expired records are deleted, and at least at which due jobs are looked for."""
    retention_s: float = 3600.0
    """The interval at which a tenant's old sessions are deleted."""
    jobs_at_once: int = 4
    """The number of background jobs that run concurrently."""
    job_lease_s: float = 60.0
    """After this time without an extension another gateway may claim a job."""
    unknown_job_s: float = 3600.0
    """How long a job may be due that no gateway can run."""

    memory_idle_s: float = 600.0
    """After this time without a run the memories of a session are suggested."""
    memory_tokens_per_day: int = 500_000
    """The tokens that a tenant may spend a day on suggesting memories. What does not fit waits for the next day."""
    memory_cost_per_day: float = 5.0
    """The same limit in the currency of the prices, for models with a price."""

    sign_ins_at_once: int = 10
    """The burst of sign-in attempts, by address and by account."""
    sign_in_every_s: float = 20.0
    """The interval after which one more attempt is allowed."""
    bad_keys_per_minute: int = 60
    """The number of unknown credentials that one address may present."""
    requests_per_minute: int = 1200
    messages_per_minute: int = 120
    tool_calls_per_minute: int = 120
    files_per_minute: int = 60
    forks_per_minute: int = 30
    forks_at_once: int = 4
    """The number of session copies a tenant may have in progress."""
    fork_events: int = 500_000
    """The number of events a copy of a session may have."""
    fork_bytes: int = 512 * 1024 * 1024
    """The same limit in bytes of logs and files."""
    recheck_s: float = 2.0
    """The interval at which the credentials of open streams are checked again."""


def checked_config(config: object) -> AgentRunConfig:
    """Return the configuration with its values validated. Raises UserError `invalid_config`."""
    if not isinstance(config, AgentRunConfig):
        raise UserError("invalid_config", f"config must be an AgentRunConfig, not {type(config).__name__}.")
    try:
        return msgspec.convert(cast(object, msgspec.to_builtins(config)), AgentRunConfig)
    except (msgspec.ValidationError, TypeError) as error:
        raise UserError("invalid_config", f"The configuration cannot be used: {error}.") from error
