"""The definition that a run has pinned, beside the agent as it is now."""

from collections.abc import Mapping

from fastapi.responses import Response
from msgspec import Struct, structs, to_builtins

from agio.core.store.records import AgentDefinition, AgentRecord, definition_of
from agio.core.store.repository import Approval
from agio.errors import UserError
from agio.gateway.http.query import Id
from agio.gateway.http.route import Call, answer
from agio.gateway.routes.runs.runs import seen_by
from agio.protocol.messages import Json


class PinnedTool(Struct, frozen=True):
    """A tool of a definition. `http` is the definition of an HTTP tool, without its secrets; null for others."""

    name: str
    approval: Approval | None
    http: Json


class PinnedAgent(AgentDefinition, frozen=True, kw_only=True):
    """An agent with its tools."""

    tools: list[PinnedTool]


class RunDefinition(Struct, frozen=True, kw_only=True):
    """What a run runs, pinned when it was first claimed, and the agent as it is now."""

    version: str | None
    """The digest of the definition; null if the run has not begun, or began before versions were kept."""
    pinned: PinnedAgent | None
    current: PinnedAgent | None
    """Null if the agent was deleted."""
    changed: list[str]
    """The fields that differ."""


async def run_definition(call: Call, run_id: Id) -> Response:
    """Get the definition that a run has pinned, and how it differs from the agent as it is now."""
    store, tenant = call.gateway.store, call.who.tenant
    run = await store.find_run(tenant, seen_by(call.who), run_id)
    used = await store.run_definition(run)
    pinned, current = _shown(used), None
    names = {} if used is None else {member.id: member.name for member in used.team}
    try:
        current = _shown(await store.get_agent(tenant, run.agent_id), names)
    except UserError as error:
        if error.code != "agent_not_found":
            raise
    changed: list[str] = []
    if pinned is not None and current is not None:
        changed = [
            name
            for name in PinnedAgent.__struct_fields__
            if name != "status" and getattr(pinned, name) != getattr(current, name)
        ]
    version = None if pinned is None else run.definition
    return answer(RunDefinition(version=version, pinned=pinned, current=current, changed=changed))


def _shown(agent: AgentRecord | None, names: Mapping[str, str] | None = None) -> PinnedAgent | None:
    """Show an agent; `names` are those of the agents that handoffs lead to, by id."""
    if agent is None:
        return None
    handoffs = [
        structs.replace(each, agent=(names or {}).get(each.agent, each.agent)) for each in agent.handoffs
    ]
    tools = [PinnedTool(tool.name, tool.approval, to_builtins(tool.http)) for tool in agent.tools]
    return structs.replace(PinnedAgent(**definition_of(agent), tools=tools), handoffs=handoffs)
