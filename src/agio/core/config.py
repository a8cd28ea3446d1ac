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
    """What a million tokens of a model cost, in the currency of your choice."""

    input: float
    output: float
    cached_input: float | None = None


class AgentRunConfig(Struct, frozen=True, kw_only=True):
    """The limits and settings of a run. The defaults suit a chat; change them with `AgentRunConfig(...)`."""

    max_steps: Count = 50
    max_tokens: Count | None = None
    """Input and output tokens of all model calls together; None is no limit."""
    run_timeout_s: Seconds = 3600.0
    turn_timeout_s: Seconds = 600.0
    first_token_timeout_s: Seconds = 60.0
    idle_timeout_s: Seconds = 30.0
    tool_timeout_s: Seconds = 60.0
    approval_timeout_s: Seconds = 7 * 24 * 3600.0
    cancel_grace_s: Seconds = 0.5
    """How long a tool may take to obey its cancel signal, and then its cancellation."""

    retries: Mapping[str, int] = field(default_factory=lambda: dict(_RETRIES))
    """How often a model call is tried again, by error code; a code not named is not retried."""
    backoff_s: Seconds = 0.5
    max_backoff_s: Seconds = 30.0
    max_retry_after_s: Seconds = 120.0
    """A longer Retry-After than this is not waited for."""

    tool_concurrency: Count = 8
    max_bad_arguments: CountOrNone = 3
    """How many calls with arguments that do not fit their schema the model may make in a run."""
    max_output_corrections: CountOrNone = 2
    max_tool_result_bytes: Count = 64 * 1024

    context_tokens: Count = 120_000
    max_history_messages: CountOrNone = 200
    max_rag_docs: CountOrNone = 8
    max_memories: CountOrNone = 20
    memory_update_async: bool = True

    max_message_bytes: Count = 256 * 1024
    max_event_bytes: Count = 256 * 1024
    max_turn_bytes: Count = 32 * 1024 * 1024
    """The events of one model turn in the log: an answer of 100,000 tokens has about 20 MiB."""
    max_run_bytes: Count = 64 * 1024 * 1024
    """The log of a run: its events and its turn records."""
    max_image_bytes: Count = 5 * 1024 * 1024
    """An image a message refers to; a larger one is left out, with a note to the model."""
    max_attachment_bytes: Count = 14 * 1024 * 1024
    """The images and documents of one model call together, as vendors count them in base64: the newest come first."""
    max_text_file_bytes: Count = 64 * 1024
    """How much of a text file the model is shown."""

    model: ModelSettings = ModelSettings()
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    """By `provider:model`; with a price the metrics carry a cost."""


class AgentLimits(Struct, frozen=True, kw_only=True):
    """What a team says of an agent's limits, by the names of `AgentRunConfig`; None: as the server has it."""

    run_timeout_s: float | None = None
    turn_timeout_s: float | None = None
    tool_timeout_s: float | None = None
    max_tokens: int | None = None
    max_history_messages: int | None = None

    def said(self) -> dict[str, float | int]:
        """Return what is said, by name."""
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: value for name, value in values.items() if value is not None}


class ServerLimits(Struct, frozen=True, kw_only=True):
    """The limits of a server: what it takes in, runs at once and keeps for readers."""

    json_body_bytes: int = 1024 * 1024
    ag_ui_body_bytes: int = 16 * 1024 * 1024
    json_depth: int = 32
    file_bytes: int = 25 * 1024 * 1024
    unused_files: int = 200
    """How many files a user may have that no message refers to."""
    unused_file_bytes: int = 500 * 1024 * 1024
    running_per_user: int = 3
    """How many sessions a person may have runs in at once; runs that API keys started are counted apart."""
    running_per_key: int = 50
    """The same for one API key."""
    running_per_tenant: int = 200
    running_per_worker: int = 50
    queued_per_tenant: int = 1000
    queued_per_user: int = 100
    reader_window_events: int = 256
    reader_window_bytes: int = 1024 * 1024
    page_bytes: int = 1024 * 1024
    """How much a page of messages has; one message that is larger is a page of its own."""
    snapshot_bytes: int = 4 * 1024 * 1024
    """How much of a thread an AG-UI snapshot has: the newest messages."""
    subscriptions_per_socket: int = 50
    streams_per_credential: int = 1000
    """How many sockets and event streams a credential may have open at a gateway."""
    in_flight_bytes_per_credential: int = 64 * 1024 * 1024
    """Requests being received and responses not yet sent, at a gateway; without a credential, by address."""
    write_timeout_s: float = 30.0
    """A reader that takes nothing of a response for so long is disconnected."""
    open_connections: int = 10_000
    """At a gateway; at most three quarters of the files it may open."""
    keep_alive_s: float = 15.0
    """How long a stream is silent before a comment keeps it open."""
    drain_s: float = 25.0

    heartbeat_s: float = 10.0
    """How often a worker says that it is there."""
    silence_s: float = 30.0
    """After so long without a word from a worker its runs are given to others."""
    worker_silence_s: float = 20.0
    """After so long without an answer a worker stops its runs itself."""
    link_grace_s: float = 2.0
    """How long a worker whose link closed may take to come back."""
    cancel_s: float = 5.0
    """How long a worker may take to end a cancelled run before the gateway does."""
    queue_timeout_s: float = 24 * 3600.0
    tick_s: float = 5.0
    """How often the queue is looked at even if nobody rings."""
    sweep_s: float = 60.0
    """How often what is over its time is cleared away."""

    sign_ins_at_once: int = 10
    """How often somebody may try to sign in, by address and by account."""
    sign_in_every_s: float = 20.0
    """After how long they may try once more."""
    bad_keys_per_minute: int = 60
    """How many credentials that are not known an address may show."""
    requests_per_minute: int = 1200
    messages_per_minute: int = 120
    tool_calls_per_minute: int = 120
    files_per_minute: int = 60
    forks_per_minute: int = 30
    forks_at_once: int = 4
    """How many copies of sessions are made at a time for a tenant."""
    fork_events: int = 500_000
    """How many events of a session are copied at most."""
    fork_bytes: int = 512 * 1024 * 1024
    """The same in bytes of logs and files."""
    recheck_s: float = 2.0
    """How often the credentials behind open streams are looked at."""


def checked_config(config: object) -> AgentRunConfig:
    """Return a configuration whose values are of their kinds. Raises UserError `invalid_config`."""
    if not isinstance(config, AgentRunConfig):
        raise UserError("invalid_config", f"config must be an AgentRunConfig, not {type(config).__name__}.")
    try:
        return msgspec.convert(cast(object, msgspec.to_builtins(config)), AgentRunConfig)
    except (msgspec.ValidationError, TypeError) as error:
        raise UserError("invalid_config", f"The configuration cannot be used: {error}.") from error
