"""Records of the store as clients see them."""

from msgspec import Raw, convert

from agio.core.identity.principal import ApiKey
from agio.core.store.records import (
    AgentRecord,
    InterruptRecord,
    MessageRecord,
    Page,
    SessionRecord,
    ToolExecution,
    definition_of,
)
from agio.core.store.repository import RunInfo
from agio.gateway.routes.views import (
    Agents,
    AgentToolView,
    AgentView,
    InterruptView,
    KeyView,
    ListedSession,
    MessageView,
    Runs,
    RunView,
    Sessions,
    SessionView,
    ToolExecutionView,
)


def agent_view(agent: AgentRecord) -> AgentView:
    """Show an agent."""
    return AgentView(
        **definition_of(agent),
        id=agent.id,
        tools=[AgentToolView(tool.name, tool.approval) for tool in agent.tools],
        source=agent.source,
        read_only=agent.source != "stored",
        created_at=agent.created_at,
        updated_at=agent.updated_at,
    )


def session_view(session: SessionRecord) -> SessionView:
    """Show a session."""
    return convert(session, SessionView, from_attributes=True)


def message_view(record: MessageRecord) -> MessageView:
    """Show a message."""
    return MessageView(
        id=record.id,
        run_id=record.run_id,
        role=record.role,
        created_at=record.created_at,
        pos=record.pos,
        message=Raw(record.message),
    )


def interrupt_view(record: InterruptRecord) -> InterruptView:
    """Show a question."""
    return convert(record, InterruptView, from_attributes=True)


def run_view(run: RunInfo) -> RunView:
    """Show a run."""
    return RunView(
        id=run.run_id,
        session_id=run.thread_id,
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
    )


def execution_view(record: ToolExecution) -> ToolExecutionView:
    """Show a tool call."""
    return convert(record, ToolExecutionView, from_attributes=True)


def key_view(key: ApiKey) -> KeyView:
    """Show an API key."""
    permissions = None if key.permissions is None else sorted(key.permissions)
    return KeyView(
        id=key.id,
        user=key.user,
        name=key.name,
        prefix=key.prefix,
        permissions=permissions,
        created_at=key.created_at,
        last_used_at=key.last_used_at,
        expires_at=key.expires_at,
        revoked_at=key.revoked_at,
        made_by=key.made_by,
    )


def agents_view(page: Page[AgentRecord]) -> Agents:
    """Show a page of agents."""
    return Agents([agent_view(agent) for agent in page.items], page.next)


def sessions_view(page: Page[SessionRecord]) -> Sessions:
    """Show a page of sessions."""
    return Sessions(
        [convert(session, ListedSession, from_attributes=True) for session in page.items], page.next
    )


def runs_view(page: Page[RunInfo]) -> Runs:
    """Show a page of runs."""
    return Runs([run_view(run) for run in page.items], page.next)
