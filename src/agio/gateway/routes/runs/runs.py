"""Runs: list, get, and their tool calls. Members with `manage` see all runs of the team."""

from typing import Annotated

from fastapi import Query
from fastapi.responses import Response

from agio.core.identity.principal import Principal
from agio.core.store.repository import RunStatus
from agio.gateway.http.query import MAX_POS, After, Filter, Id, Limit
from agio.gateway.http.route import Call, answer, check_permission
from agio.gateway.routes.runs.views import ToolExecutions, execution_view, run_view, runs_view

EVERYBODY = "all"

Moment = Annotated[int | None, Query(ge=0, le=MAX_POS, description="Milliseconds since 1970.")]
Whose = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=200,
        description="A user's id, or `all`; needs permission to manage the team. Default: the caller.",
    ),
]

Copies = Annotated[
    bool | None,
    Query(
        description="Include runs that were copied with their session. Default: only when listing one session."
    ),
]


async def list_runs(
    call: Call,
    session_id: Filter = None,
    agent_id: Filter = None,
    status: Annotated[RunStatus | None, Query()] = None,
    user: Whose = None,
    since: Moment = None,
    until: Moment = None,
    copies: Copies = None,
    after: After = None,
    limit: Limit = 50,
) -> Response:
    """List runs created from `since` on and before `until`, newest first: the caller's, or the team's."""
    if user == EVERYBODY or user not in (None, call.who.user):
        check_permission(call.who, "manage")
    page = await call.gateway.store.find_runs(
        call.who.tenant,
        None if user == EVERYBODY else user or call.who.user,
        session_id=session_id,
        agent_id=agent_id,
        status=status,
        since=since,
        until=until,
        copies=copies,
        after=after,
        limit=limit,
    )
    return answer(runs_view(page))


async def get_run(call: Call, run_id: Id) -> Response:
    """Get a run."""
    return answer(run_view(await call.gateway.store.show_run(call.who.tenant, seen_by(call.who), run_id)))


async def list_run_tools(call: Call, run_id: Id, after: After = None, limit: Limit = 200) -> Response:
    """List the recorded tool calls of a run."""
    page = await call.gateway.store.list_tool_executions(
        call.who.tenant, seen_by(call.who), run_id, after=after, limit=limit
    )
    return answer(ToolExecutions([execution_view(record) for record in page.items], page.next))


def seen_by(who: Principal) -> str | None:
    """Return the user whose runs the caller can open; None for all of the team."""
    return None if "manage" in who.permissions else who.user
