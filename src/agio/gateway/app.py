"""The gateway's ASGI application: every route of the server is in the two lists below, ROUTES and DOORS.

What is on the road of every message is plain ASGI and comes first; everything else is REST, by FastAPI.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Literal, cast

from fastapi import FastAPI
from fastapi.requests import Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.routing import Route as PageRoute

from agio.errors import UserError
from agio.gateway.access import Access
from agio.gateway.ag_ui import run_agent
from agio.gateway.asgi import Application, Receive, Scope, Send
from agio.gateway.errors import refuse, wrapped
from agio.gateway.gateway import Gateway
from agio.gateway.link_socket import link_socket
from agio.gateway.openapi import describe
from agio.gateway.pages import ASSETS, PAGES, asset, icon, page, page_response, wants_page
from agio.gateway.realtime import realtime
from agio.gateway.routes import (
    account,
    agent_run,
    agent_tools,
    agents,
    api_keys,
    assignments,
    audit,
    drafts,
    files,
    invitations,
    log,
    messages,
    oidc,
    profile,
    provider_address,
    providers,
    runs,
    sdk_sessions,
    sessions,
    sign_in,
    system,
    team,
    tool_calls,
    tools,
    turn_views,
    views,
)
from agio.gateway.routes import identity_views as people
from agio.gateway.routes.files import file_door
from agio.gateway.routes.message_door import message_door
from agio.gateway.routes.route import Route, refusal, rest_route
from agio.gateway.shield import Shield
from agio.gateway.sse import session_stream
from agio.gateway.trial import ConnectionTest

# fmt: off
ROUTES: Sequence[Route] = [
    Route("POST", "/api/agent-sessions/{session_id}/message", messages.send_message, 202, views.Sent,
          "session_not_found agent_inactive session_busy idempotency_conflict empty_message message_too_large "
          "file_not_found egress_refused too_many_sessions queue_full"),
    Route("GET", "/api/agent-sessions/{session_id}", sessions.get_session, 200, views.SessionWithMessages,
          "session_not_found invalid_cursor"),
    Route("GET", "/api/agent-sessions/{session_id}/status", sessions.session_status, 200, views.SessionStatus,
          "session_not_found"),
    Route("POST", "/api/agent-sessions/{session_id}/cancel", messages.cancel_session, 202, views.Cancelled,
          "session_not_found"),
    Route("GET", "/api/agent-sessions/{session_id}/interrupts", sessions.list_interrupts, 200, views.Interrupts,
          "session_not_found"),
    Route("POST", "/api/agent-sessions/{session_id}/answer", messages.answer_interrupts, 202, views.Sent,
          "session_not_found agent_inactive unknown_interrupt interrupt_closed incomplete_answer invalid_answer "
          "idempotency_conflict too_many_sessions queue_full"),
    Route("POST", "/api/agent-sessions/{session_id}/tool-results", messages.send_tool_results, 202, views.Sent,
          "session_not_found agent_inactive unknown_tool_call idempotency_conflict message_too_large "
          "egress_refused too_many_sessions queue_full"),
    Route("GET", "/api/agent-sessions/{session_id}/events", log.session_events, 200, log.NDJSON,
          "session_not_found"),
    Route("PATCH", "/api/agent-sessions/{session_id}", sessions.change_session, 200, views.SessionView,
          "session_not_found"),
    Route("DELETE", "/api/agent-sessions/{session_id}", sessions.delete_session, 204, None,
          "session_not_found"),
    Route("POST", "/api/agent-sessions/{session_id}/fork", sessions.fork_session, 201, views.SessionView,
          "session_not_found message_not_found session_busy agent_inactive session_too_large session_deleted "
          "idempotency_conflict too_many_forks rate_limited"),
    Route("GET", "/api/agent-sessions", sessions.list_sessions, 200, views.Sessions, "invalid_cursor"),
    Route("GET", "/api/agents/{agent_id}/sessions", sessions.list_agent_sessions, 200, views.Sessions,
          "agent_not_found invalid_cursor"),
    Route("POST", "/api/agents/{agent_id}/sessions", sessions.start_session, 201, views.SessionView,
          "agent_not_found agent_inactive"),

    Route("GET", "/api/agents", agents.list_agents, 200, views.Agents, "invalid_cursor"),
    Route("POST", "/api/agents", agents.create_agent, 201, views.AgentView,
          "agent_exists unknown_provider unknown_tool invalid_schema", needs="build"),
    Route("GET", "/api/agents/{agent_id}", agents.get_agent, 200, views.AgentView, "agent_not_found"),
    Route("PUT", "/api/agents/{agent_id}", agents.replace_agent, 200, views.AgentView,
          "agent_not_found agent_exists agent_read_only unknown_provider unknown_tool invalid_schema", needs="build"),
    Route("DELETE", "/api/agents/{agent_id}", agents.delete_agent, 204, None,
          "agent_not_found agent_read_only", needs="build"),

    Route("POST", "/api/agent/run", agent_run.run_agent_once, 200, turn_views.RunOutcome,
          "agent_not_found agent_inactive session_not_found session_deleted idempotency_conflict empty_message "
          "message_too_large file_not_found egress_refused too_many_sessions queue_full not_ready", waits=True),
    Route("POST", "/api/sdk/session/create", sdk_sessions.create_sdk_session, 200, sdk_sessions.SdkSession,
          "empty_input agent_inactive invalid_model session_deleted"),
    Route("POST", "/api/sdk/session/message", sdk_sessions.send_sdk_message, 200, sdk_sessions.SdkAnswer,
          "empty_input session_not_found agent_inactive invalid_model empty_message message_too_large file_not_found "
          "egress_refused too_many_sessions queue_full not_ready", waits=True, streams=True),
    Route("GET", "/api/sdk/session/transcript", sdk_sessions.sdk_transcript, 200, sdk_sessions.SdkTranscript,
          "session_not_found"),

    Route("POST", "/api/files", files.upload_file, 201, files.FileView,
          "session_not_found file_too_large empty_file too_many_files invalid_body rate_limited",
          takes=files.UPLOAD_BODY),
    Route("GET", "/api/files/{file_id}", files.get_file, 200, files.FileView, "file_not_found"),
    Route("GET", "/api/files/{file_id}/content", files.download_file, 200, "*/*",
          "file_not_found"),
    Route("DELETE", "/api/files/{file_id}", files.delete_file, 204, None, "file_not_found"),

    Route("GET", "/api/providers", providers.list_providers, 200, providers.Providers),
    Route("POST", "/api/providers", providers.create_provider, 201, providers.ProviderView,
          "provider_exists missing_api_key invalid_base_url egress_refused no_secret_key", needs="build"),
    Route("POST", "/api/providers/test", providers.try_connection, 200, ConnectionTest,
          "missing_api_key invalid_base_url egress_refused rate_limited", needs="build"),
    Route("POST", "/api/providers/address", provider_address.check_address, 200, provider_address.AddressCheck,
          "invalid_base_url rate_limited", needs="build"),
    Route("GET", "/api/providers/{provider_id}", providers.get_provider, 200, providers.ProviderView,
          "provider_not_found"),
    Route("PUT", "/api/providers/{provider_id}", providers.replace_provider, 200, providers.ProviderView,
          "provider_not_found provider_exists missing_api_key api_key_required invalid_base_url egress_refused "
          "no_secret_key", needs="build"),
    Route("DELETE", "/api/providers/{provider_id}", providers.delete_provider, 204, None,
          "provider_not_found", needs="build"),
    Route("POST", "/api/providers/{provider_id}/test", providers.try_provider, 200, ConnectionTest,
          "provider_not_found secret_unreadable no_secret_key rate_limited", needs="build"),

    Route("GET", "/api/runs", runs.list_runs, 200, views.Runs, "invalid_cursor forbidden"),
    Route("GET", "/api/runs/{run_id}", runs.get_run, 200, views.RunView, "run_not_found"),
    Route("GET", "/api/runs/{run_id}/events", log.run_events, 200, log.NDJSON, "run_not_found"),
    Route("GET", "/api/runs/{run_id}/tools", runs.list_run_tools, 200, views.ToolExecutions, "run_not_found"),
    Route("POST", "/api/runs/{run_id}/cancel", messages.cancel_run, 202, views.Cancelled, "run_not_found"),

    Route("GET", "/api/me", account.me, 200, people.Me),
    Route("GET", "/api/account", account.get_account, 200, people.AccountView, "account_not_found"),
    Route("POST", "/api/account", account.create_account, 201, people.AccountView,
          "account_exists email_taken invalid_email weak_password"),
    Route("PATCH", "/api/account", account.change_account, 200, people.AccountView,
          "account_not_found email_taken invalid_email", fresh=True),
    Route("POST", "/api/account/password", account.set_password, 204, None,
          "account_not_found weak_password", fresh=True),
    Route("POST", "/api/account/confirm", account.confirm_account, 204, None,
          "account_not_found wrong_credentials"),
    Route("POST", "/api/account/sign-out-everywhere", account.sign_out_everywhere, 204, None),
    Route("GET", "/api/api-keys", api_keys.list_keys, 200, views.Keys),
    Route("POST", "/api/api-keys", api_keys.create_key, 201, views.NewKey, fresh=True),
    Route("DELETE", "/api/api-keys/{key_id}", api_keys.revoke_key, 204, None, "key_not_found"),

    Route("GET", "/api/tenants", team.list_tenants, 200, people.Teams),
    Route("POST", "/api/tenants", team.create_tenant, 201, people.TeamView, needs="own", fresh=True),
    Route("POST", "/api/tenants/switch", team.switch_tenant, 200, people.TeamView, "tenant_not_found"),
    Route("GET", "/api/tenant", team.get_tenant, 200, people.TenantView),
    Route("PATCH", "/api/tenant", team.change_tenant, 200, people.TenantView, needs="manage"),
    Route("GET", "/api/members", team.list_members, 200, people.Members, needs="manage"),
    Route("PATCH", "/api/members/{user}", team.change_member, 200, people.MemberView,
          "user_not_found last_owner", needs="manage", fresh=True),
    Route("DELETE", "/api/members/{user}", team.remove_member, 204, None,
          "user_not_found last_owner", needs="manage", fresh=True),
    Route("GET", "/api/invitations", invitations.list_invitations, 200, people.Invitations, needs="manage"),
    Route("POST", "/api/invitations", invitations.create_invitation, 201, people.NewInvitation,
          "invalid_email", needs="manage", fresh=True),
    Route("GET", "/api/invitations/open", invitations.open_invitation, 200, people.InvitationOffer,
          "invitation_not_found rate_limited", access="public"),
    Route("POST", "/api/invitations/accept", invitations.accept_invitation, 200, people.TeamView,
          "invitation_not_found invitation_not_yours already_member email_taken invalid_email weak_password "
          "unauthenticated forbidden_origin rate_limited", access="public"),
    Route("DELETE", "/api/invitations/{invitation_id}", invitations.revoke_invitation, 204, None,
          "invitation_not_found", needs="manage"),

    Route("GET", "/api/audit", audit.list_audit, 200, audit.AuditEntries, "invalid_cursor", needs="own"),
    Route("GET", "/api/tools", tools.list_tools, 200, views.Tools),
    Route("POST", "/api/tools/execute", tool_calls.execute_tool, 200, tool_calls.ToolResult,
          "tool_not_found tool_not_runnable approval_required session_not_found idempotency_conflict rate_limited"),
    Route("GET", "/api/agent-tools", agent_tools.list_agent_tools, 200, agent_tools.AgentTools),
    Route("POST", "/api/agent-tools", agent_tools.create_agent_tool, 201, agent_tools.AgentToolDetails,
          "tool_exists too_many_tools invalid_tool invalid_schema egress_refused secret_required "
          "no_secret_key", needs="build"),
    Route("GET", "/api/agent-tools/{tool_id}", agent_tools.get_agent_tool, 200, agent_tools.AgentToolDetails,
          "tool_not_found"),
    Route("PUT", "/api/agent-tools/{tool_id}", agent_tools.replace_agent_tool, 200, agent_tools.AgentToolDetails,
          "tool_not_found tool_exists tool_read_only invalid_tool invalid_schema egress_refused secret_required "
          "no_secret_key",
          needs="build"),
    Route("DELETE", "/api/agent-tools/{tool_id}", agent_tools.delete_agent_tool, 204, None,
          "tool_not_found tool_read_only", needs="build"),
    Route("POST", "/api/agent-tools/{tool_id}/test", tool_calls.try_agent_tool, 200, tool_calls.ToolTrial,
          "tool_not_found tool_not_runnable rate_limited", needs="build"),
    Route("GET", "/api/agents/{agent_id}/tools", assignments.list_assigned_tools, 200, assignments.AssignedTools,
          "agent_not_found"),
    Route("PUT", "/api/agents/{agent_id}/tools/{name}", assignments.assign_tool, 200, assignments.AssignedTool,
          "agent_not_found agent_read_only tool_not_found", needs="build"),
    Route("DELETE", "/api/agents/{agent_id}/tools/{name}", assignments.unassign_tool, 204, None,
          "agent_not_found agent_read_only tool_not_assigned", needs="build"),

    Route("GET", "/api/drafts", drafts.list_drafts, 200, drafts.Drafts, "invalid_cursor"),
    Route("GET", "/api/drafts/{draft_id}", drafts.get_draft, 200, drafts.DraftWithContent, "draft_not_found"),
    Route("GET", "/api/drafts/{draft_id}/versions", drafts.list_draft_versions, 200, drafts.DraftVersions,
          "draft_not_found invalid_cursor"),
    Route("GET", "/api/drafts/{draft_id}/versions/{version}", drafts.get_draft_version, 200, drafts.DraftContent,
          "draft_not_found version_not_found"),
    Route("DELETE", "/api/drafts/{draft_id}", drafts.delete_draft, 204, None, "draft_not_found"),
    Route("GET", "/api/profile", profile.get_profile, 200, profile.ProfileView),
    Route("PATCH", "/api/profile", profile.change_profile, 200, profile.ProfileView, "invalid_profile"),

    Route("GET", "/api/about", system.about, 200, views.About),
    Route("GET", "/api/health", system.health, 200, views.Health, access="public"),
    Route("GET", "/api/ready", system.ready, 200, views.Ready, "not_ready", access="public"),
    Route("GET", "/api/openapi.json", system.openapi, 200, "application/json", access="public"),
    Route("GET", "/metrics", system.metrics, 200, "text/plain", access="local"),
    Route("GET", "/api/sign-in/methods", sign_in.sign_in_methods, 200, people.SignInMethods, access="public"),
    Route("POST", "/api/sign-in", sign_in.sign_in_with_password, 200, people.TeamView,
          "wrong_credentials no_membership forbidden_origin rate_limited", access="public"),
    Route("GET", "/sign-in", sign_in.sign_in, 303, None, "rate_limited", access="public", pages=(200, 403)),
    Route("POST", "/sign-out", sign_in.sign_out, 204, None, "forbidden_origin", access="public"),
    Route("GET", "/sign-in/oidc/{provider}", oidc.begin_sign_in, 303, None,
          "sign_in_provider_not_found sign_in_provider_failed unauthenticated rate_limited", access="public"),
    Route("GET", "/sign-in/oidc/{provider}/callback", oidc.finish_sign_in, 303, None,
          "sign_in_provider_not_found sign_in_provider_failed invalid_sign_in_state sign_in_denied invalid_id_token "
          "email_not_allowed email_not_verified identity_not_linked identity_taken not_invited no_membership "
          "not_confirmed invitation_not_found invitation_not_yours unauthenticated rate_limited", access="public"),
    Route("GET", "/api/account/identities", oidc.list_identities, 200, oidc.Identities),
    Route("DELETE", "/api/account/identities/{provider}", oidc.unlink_identity, 204, None,
          "sign_in_provider_not_found identity_not_found last_sign_in", fresh=True),
    Route("POST", "/api/account/identities/{provider}", oidc.link_identity, 200, oidc.SignInStart,
          "sign_in_provider_not_found sign_in_provider_failed", fresh=True),
]
# fmt: on


@dataclass(frozen=True)
class Door:
    """A plain ASGI application and what it serves. `path` has at most one part in braces."""

    method: Literal["GET", "POST", "WEBSOCKET"]
    path: str
    make: Callable[[Gateway], Application]


DOORS: Sequence[Door] = [
    Door("WEBSOCKET", "/realtime", realtime),
    Door("GET", "/api/agent-sessions/{session_id}/stream", session_stream),
    Door("POST", "/api/agents/{agent_id}/ag-ui", run_agent),
    Door("POST", "/api/agent-sessions/{session_id}/message", message_door),
    Door("POST", "/api/files", file_door),
    Door("WEBSOCKET", "/link", link_socket),
    Door("POST", "/link/heartbeat", link_socket),
]


def create_app(gateway: Gateway) -> Application:
    """Make the application that serves one gateway."""
    return App(gateway)


class App:
    """Sends each request to its door or to FastAPI. Around a door there is nothing but its line in the log."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._shield = Shield(secure=gateway.auth.origins.secure)
        self._rest = _rest()
        made = {make: make(gateway) for make in {door.make for door in DOORS}}
        opened = [_OpenDoor(door.method, *_frame(door.path), made[door.make]) for door in DOORS]
        self._fixed = {door.before: door for door in opened if not door.after}
        self._framed = [door for door in opened if door.after]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, a WebSocket, or the server's own start and stop."""
        if scope["type"] == "lifespan":
            await self._rest(scope, receive, send)
            return
        access = Access(scope, send, self._gateway.addresses.client_of(scope), self._shield)
        door = self._find(scope["path"])
        try:
            await self._serve(door, scope, receive, access.send)
        finally:
            access.finish(getattr(scope.get("route"), "path", None) if door is None else door.pattern)

    async def _serve(self, door: "_OpenDoor | None", scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._gateway.auth.check_host(scope["headers"])
            app = self._app_of(door, scope)
        except UserError as error:
            await refuse(scope, send, error)
            return
        if app is self._rest:
            scope["gateway"] = self._gateway
        await app(scope, receive, send)

    def _find(self, path: str) -> "_OpenDoor | None":
        found = self._fixed.get(path)
        if found is None:
            for door in self._framed:
                if door.fits(path):
                    return door
        return found

    def _app_of(self, found: "_OpenDoor | None", scope: Scope) -> Application:
        """Return who serves this. Raises UserError `not_found`, `method_not_allowed`, `upgrade_required`."""
        path: str = scope["path"]
        given = "WEBSOCKET" if scope["type"] == "websocket" else scope["method"]
        if found is None:
            if given == "WEBSOCKET" or "\0" in path or path.endswith("\n"):  # which patterns overlook
                raise not_found(path)
            return self._rest
        if found.method == given:
            return found.app
        if found.method == "WEBSOCKET" and given == "GET":
            raise UserError("upgrade_required", f"{path} is a WebSocket: ask for an upgrade.")
        raise _not_allowed("GET" if found.method == "WEBSOCKET" else found.method)


class _OpenDoor:
    """A door of one gateway, and the parts of its path around the one in braces."""

    def __init__(self, method: str, before: str, after: str, app: Application) -> None:
        self.method = method
        self.before = before
        self.after = after
        self.app = app
        self.pattern = f"{before}{{id}}{after}" if after else before

    def fits(self, path: str) -> bool:
        """Whether a path is these parts around one name."""
        before, after = self.before, self.after
        end = len(path) - len(after)
        return path.startswith(before) and path.endswith(after) and path.find("/", len(before)) == end


def describe_api() -> bytes:
    """Return the OpenAPI document without a server."""
    return cast("bytes", _rest().state.openapi())


@cache
def _rest() -> FastAPI:
    """Make what serves REST. It is the same for every gateway: a request says which it is for."""
    rest = FastAPI(
        openapi_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},
        exception_handlers={HTTPException: _unrouted},
    )
    fixed = frozenset(route.path for route in ROUTES if "{" not in route.path)
    made = [rest_route(route, fixed, page_response if _is_door(route) else None) for route in ROUTES]
    rest.router.routes.extend(made)
    rest.router.routes.extend(_NamedRoute(path, page) for path in PAGES)
    rest.router.routes.append(_NamedRoute(ASSETS, asset))
    rest.router.routes.append(_NamedRoute("/icon.svg", icon))
    rest.state.openapi = cache(partial(describe, ROUTES, made))
    return rest


def _is_door(route: Route) -> bool:
    """Whether it is where people come in, with a browser."""
    return route.method == "GET" and route.path.startswith("/sign-in")


class _NamedRoute(PageRoute):
    """A page's route, which says so in the log."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, found = super().matches(scope)
        return match, found if match is Match.NONE else {**found, "route": self}


def _frame(path: str) -> tuple[str, str]:
    before, _, rest = path.partition("{")
    return before, rest.partition("}")[2]


async def _unrouted(request: Request, error: Exception) -> Response:
    """Answer what no route takes."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    path = request.url.path
    match status:
        case 404:
            return page_response(404) if wants_page(request) else refusal(not_found(path))
        case 405:
            routes = cast("FastAPI", request.app).routes
            fitting = [
                route
                for route in routes
                if isinstance(route, PageRoute) and route.matches(request.scope)[0] is not Match.NONE
            ]
            return refusal(
                _not_allowed(*sorted(method for route in fitting for method in route.methods or ()))
            )
        case _:
            return refusal(wrapped(error))


def not_found(path: str) -> UserError:
    """Say that there is nothing at a path."""
    return UserError(
        "not_found", f"There is nothing at {path[:200]}. GET /api/openapi.json says what there is."
    )


def _not_allowed(*methods: str) -> UserError:
    allowed = ", ".join(methods)
    return UserError("method_not_allowed", f"Only {allowed} is possible here.", {"allowed": allowed})
