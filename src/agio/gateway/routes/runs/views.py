"""Runs as clients see them. Without FastAPI: the command line reads them too."""

from typing import Literal

from msgspec import Struct, convert

from agio.core.store.records import Page, ToolExecution
from agio.core.store.repository import Effect, InterruptState, RunInfo, RunStatus


class RunView(Struct, frozen=True, kw_only=True):
    """A run."""

    id: str
    session_id: str
    agent_id: str
    agent_name: str
    model: str
    title: str
    status: RunStatus
    error_code: str | None
    error_message: str | None
    """Why it failed, in words; null for runs of an older server."""
    goal_met: bool | None
    cancel_requested: bool
    epoch: int
    """How often it was claimed; above 1, it was taken over from a lost worker."""
    last_seq: int
    first_pos: int
    """Event `seq` of the run has the position `first_pos + seq` in its session."""
    created_at: int
    started_at: int | None
    ended_at: int | None
    request_id: str
    """The id of the request that began it, as in the server's log; empty for a run of the library."""
    user: str
    """The id of the user whose run it is."""
    user_name: str
    question: InterruptState | None
    """The state of its question to a person; null if it asked none."""
    steps: int | None
    """This and the next four: totals of the run. Null until it has ended, and for runs of an older server."""
    input_tokens: int | None
    """Also null if no model call reported its usage."""
    output_tokens: int | None
    cost: float | None
    """In the currency of the server's prices; null if its model has none."""
    usage_partial: bool | None
    """Whether the usage of a model call is unknown, e.g. of a stopped one: the figures are of the others."""
    copied_from: str | None
    """The run it was copied from with its session; that run paid for its usage, so leave it out of sums. Null: not a
    copy. Empty: a copy of an unknown run."""
    parent_run_id: str | None
    """The run it continues; null: it is the first of its path, or has not begun."""
    branched: bool
    """Whether the runs before it on its path are not just the session's earlier ones."""
    definition: str | None
    """The version of the agent that it runs: a digest. Null until it begins, and for runs of an older server."""
    active_agent: str | None
    """The name of the agent that had the conversation at its end, or at its beginning while it runs; null: its own."""


class Runs(Struct, frozen=True):
    """A page of runs."""

    items: list[RunView]
    next: str | None


class ToolExecutionView(Struct, frozen=True, kw_only=True):
    """A recorded tool call."""

    key: str
    tool: str
    effect: Effect
    state: Literal["started", "finished"]
    error: str | None
    started_at: int
    ended_at: int | None


class ToolExecutions(Struct, frozen=True):
    """A run's tool calls, in order."""

    items: list[ToolExecutionView]
    next: str | None


def run_view(run: RunInfo) -> RunView:
    """Show a run."""
    return RunView(
        id=run.run_id,
        session_id=run.session_id,
        agent_id=run.agent_id,
        agent_name=run.agent,
        model=run.model,
        title=run.title,
        status=run.status,
        error_code=run.error_code,
        error_message=run.error_message,
        goal_met=run.goal_met,
        cancel_requested=run.cancel_requested,
        epoch=run.epoch,
        last_seq=run.last_seq,
        first_pos=run.first_pos,
        created_at=run.created_at,
        started_at=run.started_at,
        ended_at=run.ended_at,
        request_id=run.request_id,
        user=run.user,
        user_name=run.user_name,
        question=run.question,
        steps=run.steps,
        input_tokens=run.input_tokens,
        output_tokens=run.output_tokens,
        cost=run.cost,
        usage_partial=run.usage_partial,
        copied_from=run.copied_from,
        parent_run_id=run.parent_run_id or None,
        branched=run.branched,
        definition=run.definition,
        active_agent=run.active_agent or None,
    )


def runs_view(page: Page[RunInfo]) -> Runs:
    """Show a page of runs."""
    return Runs([run_view(run) for run in page.items], page.next)


def execution_view(record: ToolExecution) -> ToolExecutionView:
    """Show a tool call."""
    return convert(record, ToolExecutionView, from_attributes=True)
