"""Regeneration: answers a run's message again, on a branch of its own, with the agent as it is or changed for once."""

from typing import Annotated

from fastapi import Body as JsonBody
from fastapi.responses import Response
from msgspec import UNSET, structs
from pydantic import Field

from agio.core.store.records import AgentFields, AgentTool, Submission, definition_of
from agio.core.store.repository import RunInfo, RunLog
from agio.errors import UserError
from agio.gateway.http.query import Id, IdempotencyKey
from agio.gateway.http.route import Call, check_permission
from agio.gateway.routes.agents.agents import check_tools
from agio.gateway.routes.agents.bodies import GivenTool, ModelName, ProviderName, SystemPrompt
from agio.gateway.routes.body import Body
from agio.gateway.routes.providers.providers import check_provider
from agio.gateway.routes.sessions.messages import accept
from agio.protocol.ids import new_id
from agio.protocol.messages import Message, UserMessage


class RegenerateBody(Body):
    """What to change for this run only. Omitted fields are the agent's, as it is now."""

    model_provider: ProviderName | None = None
    model_name: ModelName | None = None
    system_prompt: SystemPrompt | None = None
    tools: Annotated[list[GivenTool], Field(max_length=100)] | None = None


async def regenerate_run(
    call: Call,
    run_id: Id,
    body: Annotated[RegenerateBody | None, JsonBody()] = None,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Answer the message of a run again. The new run continues the same run as the first; both stay readable."""
    run = await call.gateway.store.find_run(call.who.tenant, call.who.user, run_id)
    if run.status == "queued":
        raise UserError(
            "parent_not_ended", f"Run {run_id} has not begun. Cancel it first.", {"run_id": run_id}
        )
    begun = await call.gateway.store.read_run(run_id, 0, 1)
    given = RunLog(run, begun.payload).input()
    messages = [] if given is None else [_copied(message) for message in given.messages]
    users = [message for message in messages if isinstance(message, UserMessage)]
    if given is None or not users:
        raise UserError(
            "parent_pending",
            f"Run {run_id} has no message of its own: it answers run {run.parent_run_id}. Regenerate that run.",
            {"run_id": run_id, "before": run.parent_run_id},
        )
    submission = Submission(
        session_id=run.session_id,
        run_id=new_id("run"),
        messages=users,
        tools=given.tools or (),
        context=given.context or (),
        parent_run_id=run.parent_run_id or "",
        copy_of=next(message.id for message in given.messages if isinstance(message, UserMessage)),
        definition=None if body is None else await _definition(call, run, body),
        idempotency_key=idempotency_key,
        on_busy="refuse",
    )
    return await accept(call, submission)


def _copied(message: Message) -> Message:
    metadata = {**(message.metadata or {}), "copyOf": message.id}
    return structs.replace(message, id=new_id("msg"), metadata=metadata, name=UNSET)


async def _definition(call: Call, run: RunInfo, body: RegenerateBody) -> AgentFields | None:
    """Return the agent's definition with the given changes; None without any.

    Raises UserError `agent_not_found`, `unknown_provider`, `unknown_tool`, `forbidden`.
    """
    changes = body.model_dump(exclude_none=True, exclude={"tools"})
    if not changes and body.tools is None:
        return None
    gateway, tenant = call.gateway, call.who.tenant
    check_permission(call.who, (await gateway.store.get_tenant(tenant)).sdk_sessions)
    pinned = await gateway.store.run_definition(run)
    if pinned is not None and pinned.source == "inline":
        agent = pinned
    else:
        agent = await gateway.store.get_agent(tenant, run.agent_id)
    tools = agent.tools
    if body.tools is not None:
        await check_tools(call, body.tools, agent)
        tools = [AgentTool(tool.name, tool.approval) for tool in body.tools]
    if body.model_provider is not None:
        await check_provider(gateway, tenant, body.model_provider)
    return AgentFields(**{**definition_of(agent), **changes}, tools=tools)
