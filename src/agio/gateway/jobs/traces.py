"""TraceExport: the jobs that send the traces of ended runs. A run never waits for them.

Each service has a queue, which the ends of runs fill in their own commit. A run leaves it when the service has taken
its trace, or has refused it for good. A process that dies in between leaves the run in the queue: its trace is sent
again, with the same ids.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from functools import partial

import msgspec
from msgspec import Struct

from agio.core.config import ServerLimits
from agio.core.identity.team import TracesSent
from agio.core.provider import vendor_of
from agio.core.run.metrics import wall_ms
from agio.core.store.jobs import JobRecord, NewJob
from agio.core.store.records import AgentRecord
from agio.core.store.repository import RunInfo, RunLog
from agio.core.store.store import Store
from agio.core.store.traces import QueuedTrace, Sink, TraceAccount
from agio.core.trace_context import is_sampled, openai_trace_id, own_traceparent, root_span, trace_of
from agio.errors import AgioError, StoreError, UserError
from agio.gateway.counters import Counters
from agio.gateway.jobs.runner import JobKind
from agio.gateway.tools.endpoints import Found, ModelEndpoints
from agio.protocol.ids import new_id
from agio.protocol.messages import Message
from agio.telemetry.export.build import build_trace, is_answer
from agio.telemetry.export.openai import SERVICE, dashboard_url
from agio.telemetry.export.sender import ExportError
from agio.telemetry.export.services import OpenAIService, Service
from agio.telemetry.export.trace import Span, TaskWork, Trace

_log = logging.getLogger("agio.gateway")

_PAGE = 100
_TOGETHER = 20
"""How many runs are sent together."""
_HISTORY = 100
_HISTORY_BYTES = 64 * 1024
"""How much of the conversation before a run its model calls are shown with."""
_LOG_BYTES = 4 * 1024 * 1024
"""How much of logs is read at once."""
_BUILT = 100
_DEFINITIONS = 500
_MAX_BACKOFF_S = 300.0
_FLUSH_S = 5.0
_SPLIT = (400, 413, 422)
"""Refusals that may be of one trace among several."""

_decode_message = msgspec.json.Decoder(Message).decode


SINKS: Sequence[Sink] = ("openai", "otlp")


class TraceLink(Struct, frozen=True):
    """The address of a trace in the pages of a service."""

    sink: Sink
    trace_id: str
    url: str


class _Made(Struct, frozen=True):
    """A trace to send, and to where."""

    trace: Trace
    content: bool
    account: TraceAccount
    key: str | None


class TraceExport:
    """Sends traces to the services. `kinds` are its jobs, one for each service."""

    def __init__(
        self,
        store: Store,
        endpoints: ModelEndpoints,
        services: Sequence[Service],
        limits: ServerLimits,
        counters: Counters,
        link: str = "",
    ) -> None:
        self._link = link
        self._store = store
        self._endpoints = endpoints
        self._limits = limits
        self._counters = counters
        self._definitions: OrderedDict[tuple[str, str | None], AgentRecord | None] = OrderedDict()
        self._built: OrderedDict[str, Trace] = OrderedDict()
        """Traces that one service got, for the other."""
        self.services: Mapping[Sink, Service] = {service.name: service for service in services}
        self.kinds: Mapping[str, JobKind] = {
            **{_kind(sink): JobKind(run=partial(self._forget, sink), attempts=None) for sink in SINKS},
            **{
                _kind(service.name): JobKind(
                    run=partial(self._export, service), every_s=limits.traces_s, attempts=None
                )
                for service in services
            },
        }

    async def flush(self) -> None:
        """Send what is queued, for a moment: the server stops. What is left is sent after the next start."""
        for service in self.services.values():
            kind = _kind(service.name)
            try:
                if not (await self._store.trace_backlog(service.name))[0]:
                    continue
                await self._store.arm_job(NewJob(kind=kind, key=kind))
                job = await self._store.claim_job([kind], int(self._limits.job_lease_s * 1000))
                if job is None:
                    continue  # another gateway is sending them
                try:
                    async with asyncio.timeout(_FLUSH_S):
                        await self._export(service, job)
                except TimeoutError:
                    await self._store.release_job(job)
            except AgioError as error:
                _log.warning("traces for %s are sent after the next start: %s", service.name, error)

    async def close(self) -> None:
        """Close the connections to the services."""
        for service in self.services.values():
            await service.aclose()

    async def _export(self, service: Service, job: JobRecord) -> None:
        paused: set[TraceAccount] = set()
        modes: dict[str, TracesSent] = {}
        sent: list[Trace] = []
        after: QueuedTrace | None = None
        while page := await self._store.queued_traces(service.name, after, _PAGE):
            after = page[-1]
            for at in range(0, len(page), _TOGETHER):
                made = await self._make_all(service, page[at : at + _TOGETHER], modes)
                for account, batch in _by_account(made):
                    if account not in paused and not await self._deliver(service, account, batch, sent):
                        paused.add(account)
            if len(page) < _PAGE:
                break
        try:
            await service.finish(sent)
        except ExportError as error:
            _log.warning("metrics could not be sent: %s", error)
        await self._store.finish_job(job.done(int(self._limits.traces_s * 1000)))

    async def _forget(self, sink: Sink, job: JobRecord) -> None:
        """End the job of a service that traces are not sent to any more, and empty its queue."""
        while page := await self._store.queued_traces(sink, limit=_PAGE, waiting=True):
            await self._store.drop_traces(sink, [each.run_id for each in page])
        await self._store.finish_job(job.done())

    # What people ask

    async def send_test(self, sink: Sink, tenant: str, user: str) -> None:
        """Send a trace that says it is a test. Raises ExportError, UserError `trace_service_not_found`."""
        service = self.services.get(sink)
        if service is None:
            raise UserError("trace_service_not_found", f"This server sends no traces to {sink}.")
        key = service.settings.api_key if isinstance(service, OpenAIService) else None
        run_id, now = new_id("run"), wall_ms()
        span = Span(root_span(run_id), "", TaskWork("agio test"), now, now)
        trace = Trace(
            run_id=run_id,
            session_id=run_id,
            tenant=tenant,
            user=user,
            agent="agio test",
            status="completed",
            traceparent=own_traceparent(run_id),
            answers="",
            spans=[span],
        )
        if complaint := await service.send([(trace, False)], key):
            raise ExportError("traces_refused", complaint)

    async def links(self, info: RunInfo) -> list[TraceLink]:
        """Return where an ended run's trace is to be seen."""
        if info.ended_at is None or info.copied_from is not None:
            return []
        found: list[TraceLink] = []
        context = info.traceparent or own_traceparent(info.run_id)
        service = self.services.get("openai")
        if isinstance(service, OpenAIService) and service.settings.is_openai:
            mode = (await self._store.get_tenant(info.tenant)).traces
            account = await self._account(service, info.tenant, await self._definition(info))
            if mode != "off" and account is not None:
                trace_id = openai_trace_id(context, info.session_id)
                found.append(TraceLink("openai", trace_id, dashboard_url(trace_id)))
        if self._link and "otlp" in self.services and is_sampled(context):
            found.append(
                TraceLink("otlp", trace_of(context), self._link.replace("{trace_id}", trace_of(context)))
            )
        return found

    # Making

    async def _make_all(
        self, service: Service, page: Sequence[QueuedTrace], modes: dict[str, TracesSent]
    ) -> list[_Made]:
        for tenant in {queued.tenant for queued in page} - modes.keys():
            modes[tenant] = (await self._store.get_tenant(tenant)).traces
        made: list[_Made] = []
        unwanted: list[str] = []
        async for log in self._logs(service.name, page):
            info = log.info
            try:
                trace = await self._make(service, log, modes[info.tenant])
            except StoreError as error:
                if error.code not in ("store_corrupt", "secret_unreadable"):
                    raise
                await self._refuse(TraceAccount(sink=service.name, tenant=info.tenant), [info.run_id], error)
                continue
            except UserError as error:  # the team's key cannot be opened
                await self._refuse(TraceAccount(sink=service.name, tenant=info.tenant), [info.run_id], error)
                continue
            if trace is None:
                unwanted.append(info.run_id)
            else:
                made.append(trace)
        if unwanted:
            await self._store.drop_traces(service.name, unwanted)
        return made

    async def _logs(self, sink: Sink, page: Sequence[QueuedTrace]) -> AsyncGenerator[RunLog]:
        """Yield the logs of queued runs. One that is damaged is not sent."""
        left = [queued.run_id for queued in page]
        together = True
        while left:
            try:
                logs = await self._store.trace_logs(left if together else left[:1], _LOG_BYTES)
            except StoreError as error:
                if error.code != "store_corrupt":
                    raise
                if not together:
                    tenant = next(queued.tenant for queued in page if queued.run_id == left[0])
                    await self._refuse(TraceAccount(sink=sink, tenant=tenant), left[:1], error)
                    left = left[1:]
                together = False
                continue
            for log in logs:
                yield log
            if not logs and together:
                return
            left = left[left.index(logs[-1].info.run_id) + 1 :] if logs else left[1:]

    async def _make(self, service: Service, log: RunLog, mode: TracesSent) -> _Made | None:
        """Make a run's trace; None if it is not to be sent to the service. Raises UserError, StoreError."""
        info = log.info
        account, key = TraceAccount(sink=service.name, tenant=info.tenant), None
        definition = await self._definition(info)
        if isinstance(service, OpenAIService):
            found = None if mode == "off" else await self._account(service, info.tenant, definition)
            if found is None:
                return None
            account, key = found
        elif info.traceparent and not is_sampled(info.traceparent):
            return None
        trace = self._built.pop(info.run_id, None)
        if trace is None:
            trace = build_trace(log, definition, await self._history(log, mode))
            if len(self.services) > 1:
                self._built[info.run_id] = trace  # for the other service, which is about to ask
                if len(self._built) > _BUILT:
                    self._built.popitem(last=False)
        return _Made(trace, service.wants_content and mode == "content", account, key)

    async def _history(self, log: RunLog, mode: TracesSent) -> list[Message]:
        """Return the messages before a run, if its trace has texts, or it answers questions about earlier calls."""
        info = log.info
        content = mode == "content" and any(service.wants_content for service in self.services.values())
        if info.parent_run_id is None or not (content or is_answer(log)):
            return []
        page = await self._store.last_messages(
            info.tenant,
            info.user,
            info.session_id,
            limit=_HISTORY,
            limit_bytes=_HISTORY_BYTES,
            leaf=info.parent_run_id,
            queued=False,
        )
        return [_decode_message(record.message) for record in page.items]

    async def _definition(self, info: RunInfo) -> AgentRecord | None:
        name = info.agent_id, info.definition
        if name not in self._definitions:
            self._definitions[name] = await self._store.run_definition(info)
            if len(self._definitions) > _DEFINITIONS:
                self._definitions.popitem(last=False)
        return self._definitions[name]

    async def _account(
        self, service: OpenAIService, tenant: str, definition: AgentRecord | None
    ) -> tuple[TraceAccount, str | None] | None:
        """Return the account and key for a run at OpenAI: those that its models were called with.

        None: a run on a team's own models that are not OpenAI's. It is not the operator's to send there.
        """
        account = TraceAccount(sink=service.name, tenant=tenant)
        agents = [] if definition is None else [definition, *definition.team]
        found = [await self._endpoints.find(agent) for agent in agents]
        own = [each for each in found if each.provider is not None]
        if not own:
            return account, service.settings.api_key
        for each in own:
            if _is_openai(each, anywhere=not service.settings.is_openai):
                endpoint = self._endpoints.open(each)
                if endpoint is not None and endpoint.api_key:
                    return msgspec.structs.replace(account, own=True), endpoint.api_key
        return None

    # Sending

    async def _deliver(
        self, service: Service, account: TraceAccount, batch: Sequence[_Made], sent: list[Trace]
    ) -> bool:
        """Send traces of one account. Returns whether more may be sent there now."""
        run_ids = [each.trace.run_id for each in batch]
        try:
            complaint = await service.send([(each.trace, each.content) for each in batch], batch[0].key)
        except ExportError as error:
            if not error.is_final:
                await self._pause(account, error)
                return False
            if len(batch) > 1 and error.status in _SPLIT:
                half = len(batch) // 2
                for part in (batch[:half], batch[half:]):
                    if not await self._deliver(service, account, part, sent):
                        return False
                return True
            await self._refuse(account, run_ids, error)
            return True
        problem = ("traces_refused", complaint) if complaint else None
        self._count(account, "sent", await self._store.settle_traces(account, run_ids, error=problem))
        sent += [each.trace for each in batch]
        return True

    async def _refuse(self, account: TraceAccount, run_ids: Sequence[str], error: AgioError) -> None:
        words = "%d traces for %s were refused and are not sent again: %s"
        _log.warning(words, len(run_ids), account.sink, error)
        problem = error.code, error.message
        count = await self._store.settle_traces(account, run_ids, refused=True, error=problem)
        self._count(account, "refused", count)

    async def _pause(self, account: TraceAccount, error: ExportError) -> None:
        failures = await self._store.trace_failures(account)
        pause_s = error.retry_after_s or min(self._limits.traces_s * 2 ** min(failures, 32), _MAX_BACKOFF_S)
        _log.warning("traces for %s wait, and are sent again in %.0f s: %s", account.sink, pause_s, error)
        await self._store.pause_traces(account, (error.code, error.message), int(pause_s * 1000))
        self._count(account, "failed", 1)

    def _count(self, account: TraceAccount, outcome: str, count: int) -> None:
        self._counters.traces[account.sink, outcome] += count


def _kind(sink: Sink) -> str:
    return f"export_{sink}_traces"


def _is_openai(found: Found, *, anywhere: bool) -> bool:
    """Whether a team's provider is OpenAI, so that its key opens OpenAI's dashboard.

    A key of another address goes nowhere else, unless the operator has chosen where traces go.
    """
    provider = found.provider
    if provider is None or vendor_of(provider.kind) != "openai" or found.key is None:
        return False
    return anywhere or provider.base_url is None or f"{provider.base_url}/".startswith(SERVICE)


def _by_account(made: Iterable[_Made]) -> list[tuple[TraceAccount, list[_Made]]]:
    """Group traces by account and key."""
    groups: dict[tuple[TraceAccount, str | None], list[_Made]] = {}
    for each in made:
        groups.setdefault((each.account, each.key), []).append(each)
    return [(account, batch) for (account, _), batch in groups.items()]
