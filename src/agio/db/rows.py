"""Rows by the names of their columns: a struct names the columns of a query in the order of its select list.

msgspec analyses a struct's types once, a tuple's in every call: a struct is the cheaper way to read a row.
"""

from collections.abc import Sequence
from typing import TypeVar

import msgspec
from msgspec import Struct

from agio.core.store.records import OnBusy, SessionState
from agio.core.store.repository import Approval, RunStatus

S = TypeVar("S", bound=Struct)


class Columns(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A row. Fields with a default are columns that only some queries select."""


C = TypeVar("C", bound=Columns)


class RunRow(Columns, frozen=True):
    """`run_columns`, and the run's number where it is selected."""

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
    error_code: str | None
    title: str
    agent_id: str
    alias: str | None
    cancel_requested_at: int | None
    worker: str | None
    token_hash: bytes
    started_at: int | None
    goal_met: int | None
    request_id: str
    steps: int | None
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    usage_partial: int | None
    error_message: str | None
    copied_from: str | None
    parent_run_id: str | None
    parent_seq: int | None
    branched: int
    definition: str | None
    log_level: int
    active_agent: str
    needed: int | None
    traceparent: str
    gateway: str
    number: int = 0


class ToolRow(Columns, frozen=True):
    """`tools_of_agents`."""

    agent_id: str
    name: str
    approval: Approval | None
    tool_id: str
    kind: str
    definition: bytes | None
    updated_at: int


class SessionRow(Columns, frozen=True):
    """`session_columns`."""

    id: str
    tenant: str
    user: str
    agent_id: str
    agent_name: str
    title: str
    on_busy: OnBusy
    active: SessionState | None
    questions: int
    alias: str | None
    pending: str
    created_at: int
    updated_at: int
    last_run_id: str | None
    last_first_pos: int | None
    last_seq: int | None
    last_status: str | None
    seen_pos: int
    forked_from: str | None
    leaf_run_id: str | None
    last_branched: int
    active_agent: str | None


class MessageRow(Columns, frozen=True):
    """`message_columns`."""

    id: str
    run_id: str
    role: str
    message: bytes
    created_at: int
    pos: int | None
    run_number: int
    idx: int

    @property
    def place(self) -> tuple[int | None, int, int]:
        """The sort key of its session."""
        return self.pos, self.run_number, self.idx


class MessagePlace(Columns, frozen=True):
    """`message_places`: what a page of messages is chosen by."""

    id: str
    size_bytes: int
    pos: int | None
    run_number: int
    idx: int

    @property
    def place(self) -> tuple[int | None, int, int]:
        """Where it stands in its session."""
        return self.pos, self.run_number, self.idx


class ToolResultRow(Columns, frozen=True):
    """`get_tool`."""

    content: bytes | None
    error: str | None


class KeyRow(Columns, frozen=True):
    """`find_key`: the digest of what was sent with an idempotency key, and the id of what it made."""

    digest: bytes
    made_id: str


class HeadRow(Columns, frozen=True):
    """The answer to `Head`."""

    epoch: int
    last_seq: int


class BlobRow(Columns, frozen=True):
    """A single column of bytes."""

    data: bytes


def as_row(kind: type[C], row: Sequence[object]) -> C:
    """Name the columns of a row."""
    return msgspec.convert(row, kind)


def by_name(kind: type[Struct], row: Sequence[object], *more: str) -> dict[str, object]:
    """Name the columns of a row that has a struct's fields in their order, and then `more` columns."""
    return dict(zip((*kind.__struct_fields__, *more), row, strict=True))


def to_struct(kind: type[S], row: Sequence[object]) -> S:
    """Convert a row that has a struct's fields in their order."""
    return msgspec.convert(by_name(kind, row), kind)
