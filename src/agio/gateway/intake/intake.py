"""Intake: the commands of clients. Messages are accepted (law 2) and dispatched, runs cancelled, sessions deleted."""

import asyncio
import hashlib
from collections.abc import Sequence

import msgspec
from msgspec import structs

from agio.bus.signals import Deleted
from agio.core.config import AgentRunConfig
from agio.core.identity.principal import Principal
from agio.core.run.admission import check_input
from agio.core.run.spec import RunRequest, check_request
from agio.core.store.records import Accepted, Submission
from agio.core.store.repository import RunInfo
from agio.core.store.store import Store
from agio.core.trace_context import TRACEPARENT, own_traceparent
from agio.egress import Egress
from agio.errors import UserError
from agio.gateway.http.rate_limits import Rates
from agio.gateway.intake.remote_parts import check_addresses
from agio.gateway.stream.hub import Hub
from agio.gateway.tools.approvals import check_edits
from agio.gateway.workers.dispatcher import Dispatcher
from agio.gateway.workers.pool import WorkerPool
from agio.protocol.codec import encode
from agio.protocol.messages import Message, ToolMessage, UserMessage
from agio.telemetry.context import REQUEST_ID, RUN_ID

_ordered = msgspec.json.Encoder(order="deterministic").encode


class Intake:
    """The commands of clients. The caller has authenticated them."""

    def __init__(
        self,
        store: Store,
        hub: Hub,
        pool: WorkerPool,
        dispatcher: Dispatcher,
        config: AgentRunConfig | None = None,
        *,
        rates: Rates,
        egress: Egress | None = None,
        traced: bool = False,
    ) -> None:
        self._traced = traced
        """Whether runs that continue no caller's trace begin one."""
        self._rates = rates
        self._egress = egress or Egress()
        self._store = store
        self._hub = hub
        self._pool = pool
        self._dispatcher = dispatcher
        self._message_bytes = (config or AgentRunConfig()).max_message_bytes

    async def accept(self, who: Principal, given: Submission) -> Accepted:
        """Accept a message, tool results or answers for a session; what it returns is committed.

        If a worker has room and the session has no earlier run, the run starts in the same commit. Raises UserError
        `empty_message`, `message_too_large`, `invalid_message`, `invalid_answer`, `duplicate_answer`,
        `egress_refused`, LimitExceeded `rate_limited`, and what `Store.accept` raises.
        """
        self._rates.take("message", who.credential, f"{who.tenant}/{who.user}")
        check_input(given.messages, given.resume, self._message_bytes)
        check_parts(given.messages, self._message_bytes)
        await check_addresses(self._egress, given.messages)
        check_request(
            RunRequest(
                session_id=given.session_id,
                run_id=given.run_id,
                messages=given.messages,
                resume=given.resume,
                tools=given.tools,
                context=given.context,
            )
        )
        if given.resume:
            await check_edits(self._store, who, given.session_id, given.resume, self._pool.offers_of)
        digest = b"" if given.idempotency_key is None else digest_of(given)
        if given.copy_of is not None:
            given = structs.replace(
                given, messages=[_copied(message, given.copy_of) for message in given.messages]
            )
        traceparent = TRACEPARENT.get() or (own_traceparent(given.run_id) if self._traced else "")
        given = structs.replace(
            given,
            digest=digest,
            request_id=REQUEST_ID.get(),
            key_id=who.key_id,
            traceparent=traceparent,
        )
        # A committed run must reach its worker even if the client disconnects before the answer.
        accepting = asyncio.ensure_future(self._commit(who, given))
        accepting.add_done_callback(lambda done: done.cancelled() or done.exception())
        accepted = await asyncio.shield(accepting)
        RUN_ID.set(accepted.run_id)
        return accepted

    async def _commit(self, who: Principal, given: Submission) -> Accepted:
        slot = self._dispatcher.reserve(self._pool.choose(who.tenant))
        if slot is not None:
            given = structs.replace(given, claim=slot.by, code_agents=slot.worker.agents_for(who.tenant))
        claimed = None
        try:
            accepted = await self._store.accept(who.tenant, who.user, given, self._dispatcher.limits)
            claimed = accepted.claimed
        finally:
            if slot is not None:
                self._dispatcher.settle(slot, claimed)
        for info in accepted.to_cancel:
            self._pool.cancel(info)
        if accepted.steered:
            await self._pool.give_inputs(accepted.run_id)
        elif claimed is None and not accepted.repeated:
            self._dispatcher.ring(queued=True)
        return accepted

    async def cancel(
        self, who: Principal, *, session_id: str | None = None, run_id: str | None = None
    ) -> list[RunInfo]:
        """Cancel a run, or all runs of a session; returns those that had not ended.

        One that is queued ends when its turn comes. Raises UserError `run_not_found`, `session_not_found`.
        """
        flagged = await self._store.request_cancel(who.tenant, who.user, session_id=session_id, run_id=run_id)
        for info in flagged:
            self._pool.cancel(info)
        self._dispatcher.ring()
        return flagged

    async def delete_session(self, who: Principal, session_id: str) -> None:
        """Delete a session: its runs stop, its streams end. Raises UserError `session_not_found`."""
        for info in await self._store.delete_session(who.tenant, who.user, session_id):
            self._pool.drop(info)
        self._hub.forget(session_id)
        self._pool.peers.bus.send(Deleted(session_id))


def check_parts(messages: Sequence[Message], limit_bytes: int) -> None:
    """Raise UserError `message_too_large` for content parts, inline data included, above the limit."""
    for message in messages:
        content = message.content if isinstance(message, UserMessage | ToolMessage) else None
        if not isinstance(content, str | None) and len(encode(content)) > limit_bytes:
            raise UserError(
                "message_too_large",
                f"A message may have {limit_bytes} bytes. Upload large files with POST /api/files.",
                {"limit_bytes": limit_bytes},
            )


def digest_of(given: Submission) -> bytes:
    """Hash what a client sent, without the ids made here: a request has the same digest over every door."""
    said = [
        [message.tool_call_id, message.content]
        if isinstance(message, ToolMessage)
        else [message.content if isinstance(message, UserMessage) else None]
        for message in given.messages
    ]
    place = [given.parent_run_id, given.copy_of, given.definition]
    branch = place if any(value is not None for value in place) else []
    return hashlib.sha256(_ordered([said, given.resume, given.context, given.on_busy, *branch])).digest()


def _copied(message: Message, copy_of: str) -> Message:
    """Name the message that a user message replaces, for clients."""
    if not isinstance(message, UserMessage):
        return message
    return structs.replace(message, metadata={**(message.metadata or {}), "copyOf": copy_of})
