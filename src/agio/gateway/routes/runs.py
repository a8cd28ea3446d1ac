"""Runs: list, get, and what tools they called."""

from typing import Annotated

from fastapi import Query
from fastapi.responses import Response

from agio.core.repository import RunStatus
from agio.gateway.routes.query import After, Filter, Id, Limit
from agio.gateway.routes.rendering import execution_view, run_view, runs_view
from agio.gateway.routes.route import Call, answer
from agio.gateway.routes.views import ToolExecutions


async def list_runs(
    call: Call,
    session_id: Filter = None,
    agent_id: Filter = None,
    status: Annotated[RunStatus | None, Query()] = None,
    after: After = None,
    limit: Limit = 50,
) -> Response:
    """List the caller's runs, newest first."""
    page = await call.gateway.store.find_runs(
        call.who.tenant,
        call.who.user,
        session_id=session_id,
        agent_id=agent_id,
        status=status,
        after=after,
        limit=limit,
    )
    return answer(runs_view(page))


async def get_run(call: Call, run_id: Id) -> Response:
    """Get a run."""
    return answer(run_view(await call.gateway.store.find_run(call.who.tenant, call.who.user, run_id)))


async def list_run_tools(call: Call, run_id: Id) -> Response:
    """List the tool calls of a run as they were recorded."""
    records = await call.gateway.store.list_tool_executions(call.who.tenant, call.who.user, run_id)
    return answer(ToolExecutions([execution_view(record) for record in records]))
