"""Observability: where the traces of runs go, what became of the team's, and the links of a run."""

import time

from fastapi.responses import Response
from msgspec import Struct

from agio.core.identity.team import TracesSent
from agio.core.store.traces import Sink, TraceExport
from agio.core.url import split_url, with_port
from agio.gateway.http.query import Id
from agio.gateway.http.route import Call, answer
from agio.gateway.routes.body import Body
from agio.telemetry.export.sender import ExportError


class TraceAccountView(Struct, frozen=True, kw_only=True):
    """What became of the team's traces at one account of a service. Times are milliseconds since 1970."""

    own: bool
    """Whether they are sent with the team's own key; else with the operator's."""
    sent: int
    refused: int
    """Runs that the service refused for good."""
    failures: int
    """How many attempts have failed in a row; 0: the last one succeeded."""
    retry_at: int | None
    sent_at: int | None
    error_code: str | None
    error_message: str | None
    error_at: int | None


class TraceServiceView(Struct, frozen=True, kw_only=True):
    """A service that traces are sent to."""

    name: Sink
    address: str
    """Where it is: scheme, host and path."""
    content: bool
    """Whether the operator lets it have texts."""
    waiting: int
    """How many of the team's runs wait to be sent."""
    waiting_since: int | None
    accounts: list[TraceAccountView]


class Observability(Struct, frozen=True, kw_only=True):
    """Where the team's traces go."""

    traces: TracesSent
    """What OpenAI's dashboard gets of the team's runs. Without `content` no service gets texts."""
    services: list[TraceServiceView]


class ObservabilityChange(Body):
    """What is to be sent."""

    traces: TracesSent


class ServiceBody(Body):
    """The service to test."""

    service: Sink


class TraceTest(Struct, frozen=True, kw_only=True):
    """The result of sending a test trace with the operator's key."""

    ok: bool
    ms: int
    error_code: str | None
    error_message: str | None


class TraceLink(Struct, frozen=True, kw_only=True):
    """A run's trace in the pages of a service."""

    service: Sink
    trace_id: str
    url: str


class RunTrace(Struct, frozen=True, kw_only=True):
    """Where a run's trace can be seen."""

    links: list[TraceLink]


async def get_observability(call: Call) -> Response:
    """Get where the traces of runs go, and what became of the team's."""
    gateway, tenant = call.gateway, call.who.tenant
    exports = await gateway.store.trace_exports(tenant)
    services: list[TraceServiceView] = []
    for name, service in gateway.traces.services.items():
        waiting, since = await gateway.store.trace_backlog(name, tenant)
        services.append(
            TraceServiceView(
                name=name,
                address=_shown(service.url),
                content=service.wants_content,
                waiting=waiting,
                waiting_since=since,
                accounts=[_account_view(each) for each in exports if each.sink == name],
            )
        )
    sent = (await gateway.store.get_tenant(tenant)).traces
    return answer(Observability(traces=sent, services=services))


async def change_observability(call: Call, body: ObservabilityChange) -> Response:
    """Set what of the team's runs is sent."""
    await call.gateway.store.set_traces(call.who.tenant, body.traces)
    return await get_observability(call)


async def try_trace_service(call: Call, body: ServiceBody) -> Response:
    """Send a small trace named `agio test` to a service, with the operator's key."""
    gateway, who = call.gateway, call.who
    gateway.rates.take("tool", who.credential, f"{who.tenant}/{who.user}")
    began = time.perf_counter()
    code = message = None
    try:
        await gateway.traces.send_test(body.service, who.tenant, who.user)
    except ExportError as error:
        code, message = error.code, error.message
    took_ms = round((time.perf_counter() - began) * 1000)
    return answer(TraceTest(ok=code is None, ms=took_ms, error_code=code, error_message=message))


async def run_trace(call: Call, run_id: Id) -> Response:
    """Get the links to a run's trace. There are none while it goes on, or where it is not sent."""
    gateway, tenant = call.gateway, call.who.tenant
    run = await gateway.store.find_run(
        tenant, None if "manage" in call.who.permissions else call.who.user, run_id
    )
    links = [
        TraceLink(service=each.sink, trace_id=each.trace_id, url=each.url)
        for each in await gateway.traces.links(run)
    ]
    return answer(RunTrace(links=links))


def _account_view(export: TraceExport) -> TraceAccountView:
    return TraceAccountView(
        own=export.own,
        sent=export.sent,
        refused=export.refused,
        failures=export.failures,
        retry_at=export.retry_at or None,
        sent_at=export.sent_at,
        error_code=export.error_code,
        error_message=export.error_message,
        error_at=export.error_at,
    )


def _shown(url: str) -> str:
    """Leave out what may be secret: user, query and fragment."""
    parts = split_url(url, "http", "https")
    return f"{parts.scheme}://{with_port(parts.scheme, parts.hostname or '', parts.port)}{parts.path}"
