"""Which tools an agent has: list, give, take."""

from typing import Annotated, TypeAlias

from fastapi import Path
from fastapi.responses import Response
from msgspec import Struct

from agio.core.link.link import ToolKind
from agio.core.store.records import AgentTool
from agio.core.store.repository import Approval
from agio.errors import UserError
from agio.gateway.gateway import Gateway
from agio.gateway.http.query import Id
from agio.gateway.http.route import Call, answer
from agio.gateway.routes.agents.bodies import AssignmentBody
from agio.gateway.routes.tools.agent_tools import tools_of_team
from agio.gateway.routes.tools.views import ToolServer

Named: TypeAlias = Annotated[str, Path(min_length=1, max_length=64)]


class AssignedTool(Struct, frozen=True, kw_only=True):
    """A tool of an agent. `id` and `kind` are null while it is unavailable, e.g. its worker is disconnected."""

    name: str
    approval: Approval | None
    """Whether a person is asked first; null: as the tool says."""
    id: str | None
    kind: ToolKind | None
    description: str
    server: ToolServer | None


class AssignedTools(Struct, frozen=True):
    """An agent's tools, in the agent's order."""

    items: list[AssignedTool]


async def list_assigned_tools(call: Call, agent_id: Id) -> Response:
    """List an agent's tools."""
    return answer(AssignedTools(await _assigned(call.gateway, call.who.tenant, agent_id)))


async def assign_tool(call: Call, agent_id: Id, name: Named, body: AssignmentBody | None = None) -> Response:
    """Assign a tool to an agent, or change its approval."""
    gateway, tenant = call.gateway, call.who.tenant
    agent = await gateway.store.get_agent(tenant, agent_id)
    if name not in await tools_of_team(gateway, tenant, agent):
        raise _not_found(name)
    await gateway.store.assign_tool(tenant, agent_id, name, None if body is None else body.approval)
    found = [tool for tool in await _assigned(gateway, tenant, agent_id) if tool.name == name]
    if not found:  # deleted meanwhile
        raise _not_found(name)
    return answer(found[0])


async def unassign_tool(call: Call, agent_id: Id, name: Named) -> Response:
    """Remove a tool from an agent."""
    await call.gateway.store.unassign_tool(call.who.tenant, agent_id, name)
    return Response(status_code=204)


async def _assigned(gateway: Gateway, tenant: str, agent_id: str) -> list[AssignedTool]:
    agent = await gateway.store.get_agent(tenant, agent_id)
    known = await tools_of_team(gateway, tenant, agent) if agent.tools else {}

    def shown(tool: AgentTool) -> AssignedTool:
        found = known.get(tool.name)
        return AssignedTool(
            name=tool.name,
            approval=tool.approval,
            id=None if found is None else found.id,
            kind=None if found is None else found.offer.kind,
            description="" if found is None else found.offer.description,
            server=None if found is None else found.server,
        )

    return [shown(tool) for tool in agent.tools]


def _not_found(name: str) -> UserError:
    return UserError("tool_not_found", f"There is no tool {name}.", {"name": name})
