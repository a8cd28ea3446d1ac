"""Agents: list, get, create, replace, delete."""

from collections.abc import Sequence
from typing import Annotated

import msgspec
from fastapi import Query
from fastapi.responses import Response

from agio.core.schema.schema import Schema, validator
from agio.core.store.records import AgentRecord, AgentStatus
from agio.errors import UserError
from agio.gateway.http.query import After, Id, IfMatch, Limit, Search, expected_version
from agio.gateway.http.route import Call, answer
from agio.gateway.routes.agents.bodies import AgentBody, ToolBody
from agio.gateway.routes.agents.views import agent_view, agents_view
from agio.gateway.routes.providers.providers import check_provider
from agio.gateway.routes.tools.agent_tools import tools_of_team


async def list_agents(
    call: Call,
    search: Search = None,
    status: Annotated[AgentStatus | None, Query()] = None,
    after: After = None,
    limit: Limit = 50,
) -> Response:
    """List the agents, by name."""
    page = await call.gateway.store.list_agents(
        call.who.tenant, search=search, status=status, after=after, limit=limit
    )
    return answer(agents_view(page))


async def create_agent(call: Call, body: AgentBody) -> Response:
    """Create an agent."""
    await check_agent(call, body)
    agent = await call.gateway.store.create_agent(call.who.tenant, body.fields())
    return answer(agent_view(agent), 201, version=agent.updated_at)


async def get_agent(call: Call, agent_id: Id) -> Response:
    """Get an agent."""
    agent = await call.gateway.store.get_agent(call.who.tenant, agent_id)
    return answer(agent_view(agent), version=agent.updated_at)


async def replace_agent(call: Call, agent_id: Id, body: AgentBody, if_match: IfMatch = None) -> Response:
    """Replace an agent. Omitted fields get their defaults."""
    await check_agent(call, body, await call.gateway.store.get_agent(call.who.tenant, agent_id))
    agent = await call.gateway.store.update_agent(
        call.who.tenant, agent_id, body.fields(), expected_version(call, if_match)
    )
    return answer(agent_view(agent), version=agent.updated_at)


async def delete_agent(call: Call, agent_id: Id) -> Response:
    """Delete an agent. Its sessions stay readable."""
    await call.gateway.store.delete_agent(call.who.tenant, agent_id)
    return Response(status_code=204)


async def check_agent(call: Call, body: AgentBody, before: AgentRecord | None = None) -> None:
    """Refuse an agent that could not run. Raises UserError as below, and
    `unknown_provider`, `invalid_schema`, `collection_not_found`.
    """
    gateway, tenant = call.gateway, call.who.tenant
    if body.output_schema is not None:
        await call.compile_schema(check_output_schema, body.output_schema)
    await check_provider(gateway, tenant, body.model_provider)
    await check_tools(call, body.tools, before)
    for collection_id in set(body.collections) - set([] if before is None else before.collections):
        await gateway.store.get_collection(tenant, call.who.user, collection_id)


async def check_tools(call: Call, given: Sequence[ToolBody], before: AgentRecord | None) -> None:
    """Refuse tools that the team does not have. Raises UserError `unknown_tool`."""
    tools = await tools_of_team(call.gateway, call.who.tenant, before) if given else {}
    if unknown := [tool.name for tool in given if tool.name not in tools]:
        raise UserError(
            "unknown_tool",
            f"There is no tool {', '.join(map(repr, unknown))}. Known: {', '.join(sorted(tools)) or 'none'}.",
            {"unknown": unknown, "known": sorted(tools)},
        )


def check_output_schema(schema: Schema) -> None:
    """Refuse a schema that cannot be compiled, or cannot be sent to a worker. Raises UserError `invalid_schema`."""
    try:
        msgspec.msgpack.encode(schema)
    except OverflowError as error:
        raise UserError("invalid_schema", "output_schema has a number of more than 64 bits.") from error
    validator(schema, "output_schema")
