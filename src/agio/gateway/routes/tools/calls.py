"""Tool calls outside a run: for programs (S4), and for trying a tool."""

import time
from collections.abc import Mapping
from contextlib import suppress

from fastapi.responses import Response
from msgspec import structs

from agio.core.http_tool import HttpTool
from agio.core.identity.principal import Principal
from agio.core.store.records import AgentTool
from agio.egress import Egress, EgressRequest, EgressResponse
from agio.errors import UserError
from agio.gateway.gateway import Gateway
from agio.gateway.http.query import Id, IdempotencyKey
from agio.gateway.http.route import Call, answer
from agio.gateway.routes.tools.agent_tools import find_tool, named_tool
from agio.gateway.routes.tools.bodies import ExecuteBody, TrialBody
from agio.gateway.routes.tools.views import Known, SentRequest, result_view, trial_view
from agio.gateway.tools.calls import Asked
from agio.tools.http_tool import Mask


async def execute_tool(call: Call, body: ExecuteBody, idempotency_key: IdempotencyKey = None) -> Response:
    """Call a built-in tool or one of the team's. It continues after a disconnect; see Idempotency-Key.

    A repeat with the same key returns the result.
    """
    gateway, who = call.gateway, call.who
    tool = await named_tool(gateway, who.tenant, body.tool)
    _check_place(tool)
    if tool.offer.approval == "ask" and not body.approved:
        raise UserError(
            "approval_required",
            f'{tool.offer.name} asks a person first. If you are that person, send it with "approved": true.',
            {"tool": tool.offer.name},
        )
    if tool.offer.approval == "ask":
        await _check_approver(call, tool.offer.name, body.session_id)
    _take(gateway, who)
    asked = _asked(tool, body.arguments)
    asked = structs.replace(asked, session_id=body.session_id, key=idempotency_key)
    return answer(result_view(await gateway.tool_calls.make(who, asked)))


async def try_agent_tool(call: Call, tool_id: Id, body: TrialBody) -> Response:
    """Test a tool with a real call, without approval. Returns the HTTP request, without its secrets."""
    gateway, who = call.gateway, call.who
    tool = await find_tool(gateway, who.tenant, tool_id)
    _check_place(tool)
    _take(gateway, who)
    asked = _asked(tool, body.arguments)
    if asked.team is None or asked.team.http is None:
        return answer(trial_view(await gateway.tool_calls.make(who, asked), None))
    witness = _Witness(gateway.egress, asked.team.http)
    executor = gateway.rack.make(who.tenant, asked.team, asked.team.http, witness)
    return answer(trial_view(await gateway.tool_calls.make(who, asked, executor), witness.seen))


class _Witness:
    """Sends a request through the guard, and remembers it without its secrets."""

    def __init__(self, egress: Egress, http: HttpTool) -> None:
        self.seen: SentRequest | None = None
        self._egress = egress
        self._secret = {header.name.lower() for header in http.headers if header.secret}

    async def request(self, request: EgressRequest) -> EgressResponse:
        """See `Sender`."""
        mask = Mask(value for name, value in request.headers if name.lower() in self._secret)
        began = time.monotonic()
        url, status = request.url, None
        try:
            response = await self._egress.request(request)
            url, status = response.url, response.status
            return response
        finally:
            self.seen = SentRequest(
                method=request.method,
                url=mask.text(url),
                status=status,
                duration_ms=round((time.monotonic() - began) * 1000),
            )


def _check_place(tool: Known) -> None:
    if tool.offer.place != "gateway":
        raise UserError(
            "tool_not_runnable",
            f"{tool.offer.name} is a tool of a worker's module: it runs only within a run of an agent.",
            {"tool": tool.offer.name},
        )


async def _check_approver(call: Call, tool: str, session_id: str | None) -> None:
    """Let those approve a call who could in a chat: the session's user, for a tool its agent has; and who builds.

    Raises UserError `forbidden`, `session_not_found`.
    """
    store, who = call.gateway.store, call.who
    if "build" in who.permissions:
        return
    if session_id is not None:
        session = await store.get_session(who.tenant, who.user, session_id)
        with suppress(UserError):  # a deleted agent has no tools
            if tool in call.gateway.pool.offers_of(await store.get_agent(who.tenant, session.agent_id)):
                return
    raise UserError(
        "forbidden",
        f"{tool} asks a person first. Give the session_id of your session with an agent that has it; without one "
        "this needs the permission 'build'.",
        {"needs": "build"},
    )


def _take(gateway: Gateway, who: Principal) -> None:
    gateway.rates.take("tool", who.credential, f"{who.tenant}/{who.user}")


def _asked(tool: Known, arguments: Mapping[str, object]) -> Asked:
    made, team = tool.definition, None
    if made is not None:
        team = AgentTool(made.name, None, made.id, made.http, made.updated_at)
    elif tool.mcp is not None:
        team = AgentTool(tool.offer.name, None, tool.id, mcp=tool.mcp)
    return Asked(tool=tool.offer.name, effect=tool.offer.effect, arguments=dict(arguments), team=team)
