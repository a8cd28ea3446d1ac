"""Tool calls of people and programs outside a run (S4): recorded as in a run.

A call is recorded before it acts, its result before it is answered. It continues if the caller
disconnects; a retry with the same key waits for it, or gets its result.
"""

import asyncio
import hashlib
import logging
import time
from collections.abc import Coroutine
from typing import Any

import msgspec
from msgspec import Struct, structs

from agio.core.http_tool import ToolRequest, ToolRequestRecord
from agio.core.identity.principal import Principal
from agio.core.store.records import AgentTool
from agio.core.store.repository import Effect, ToolRecord
from agio.core.store.store import Store
from agio.core.tool import ToolAnswer, ToolContext
from agio.core.trace_context import TRACEPARENT
from agio.errors import StoreError, ToolError
from agio.execution.tool_executor import ToolExecutor, unknown_effect
from agio.gateway.counters import Counters
from agio.gateway.shared_tasks import SharedTasks
from agio.gateway.tools.rack import ToolRack
from agio.protocol.ids import new_id
from agio.protocol.messages import FunctionCall, Json, ToolCall

_log = logging.getLogger("agio.gateway")


_LONGEST_S = 150.0
"""No call takes longer: one that another gateway began before was lost with it."""
_LOOK_S = 0.5


class Asked(Struct, frozen=True, kw_only=True):
    """A call. `team` is the definition of an HTTP tool; None: the tool is built in."""

    tool: str
    effect: Effect
    arguments: dict[str, Json]
    team: AgentTool | None = None
    session_id: str | None = None
    key: str | None = None
    """The caller's idempotency key."""

    @property
    def digest(self) -> bytes:
        """What tells it from another with the same key."""
        said = [self.tool, self.session_id, self.arguments]
        return hashlib.sha256(msgspec.json.encode(said, order="sorted")).digest()


class ToolCalls:
    """Makes calls for those who ask. `close` stops what is under way."""

    def __init__(self, store: Store, rack: ToolRack, counters: Counters, retry_s: float) -> None:
        self._store = store
        self._rack = rack
        self._figures = counters
        self._retry_s = retry_s
        self._tasks = SharedTasks[ToolRequestRecord]("call")
        self.others = False
        """Whether other gateways may be making calls on this store: what they do once is waited for."""

    async def make(
        self, who: Principal, asked: Asked, executor: ToolExecutor | None = None
    ) -> ToolRequestRecord:
        """Make a call, or wait for the one with the same key. `executor` runs it instead of the gateway's own.

        Raises UserError `idempotency_conflict`, `session_not_found`, `invalid_tool`, `invalid_schema`; StoreError,
        `store_closed` when the gateway stops.
        """

        def begin() -> Coroutine[Any, Any, ToolRequestRecord]:
            return self._make(who, asked, executor or self._rack.executor(who.tenant, asked.team))

        return await self._tasks.join((who.tenant, who.user), asked.key, asked.digest, begin)

    async def close(self) -> None:
        """Stop every call; what became of those that happen once is unknown."""
        await self._tasks.close()

    async def _make(self, who: Principal, asked: Asked, executor: ToolExecutor) -> ToolRequestRecord:
        request = ToolRequest(
            id=new_id("tcl"),
            tool=asked.tool,
            effect=asked.effect,
            digest=asked.digest,
            key_hash=None if asked.key is None else hashlib.sha256(asked.key.encode()).digest(),
            session_id=asked.session_id,
        )
        record, is_new = await self._store.begin_tool_request(who.tenant, who.user, request)
        until = record.started_at / 1000 + _LONGEST_S
        while self.others and not is_new and _is_open(record) and time.time() < until:
            await asyncio.sleep(min(_LOOK_S, self._retry_s))
            record, is_new = await self._store.begin_tool_request(who.tenant, who.user, request)
        if record.ended_at is not None:
            return record
        if not is_new and record.effect == "once":
            return await self._keep(who, record, unknown_effect(asked.tool))
        context = ToolContext(
            tenant=who.tenant,
            user=who.user,
            project=None,
            session=asked.session_id or "",
            run="",
            call_id=record.id,
            report=lambda _: None,
            traceparent=TRACEPARENT.get(),
        )
        self._figures.tool_calls[_kind(asked.team) or asked.tool] += 1
        call = ToolCall(record.id, FunctionCall(asked.tool, ""))
        try:
            answer = await executor.call(call, context, arguments=asked.arguments, recorded=True)
        except ToolError as error:
            answer = ToolAnswer(error.message, error.code)
        return await self._keep(who, record, answer)

    async def _keep(self, who: Principal, record: ToolRequestRecord, answer: ToolAnswer) -> ToolRequestRecord:
        """Make a result durable before it is answered."""
        result = ToolRecord(answer.content, answer.error)
        while True:
            try:
                kept = await self._store.end_tool_request(who.tenant, who.user, record.id, result)
            except StoreError as error:
                if error.code in ("not_storable", "store_closed"):
                    raise
                _log.warning("the result of call %s waits for the store: %s", record.id, error)
                await asyncio.sleep(self._retry_s)
                continue
            # It may be gone with its session, which does not undo what was done.
            return kept or structs.replace(record, record=result, ended_at=record.started_at)


def _is_open(record: ToolRequestRecord) -> bool:
    return record.effect == "once" and record.ended_at is None


def _kind(team: AgentTool | None) -> str | None:
    return None if team is None else "mcp" if team.mcp else "http"
