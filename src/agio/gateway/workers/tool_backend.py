"""Tools that run at the gateway on behalf of workers (law 5): authorised, checked, recorded, done once.

The context of a call (tenant, user, session) comes from the run's row, never from the worker.
"""

import asyncio
import logging
from collections.abc import Iterable
from functools import partial

from agio.core.link.link import ToolOffer, ToolReply
from agio.core.store.repository import Effect, ToolRecord
from agio.core.store.store import Store
from agio.core.tool import ToolAnswer, ToolContext
from agio.core.trace_context import call_span, under
from agio.errors import StoreError, ToolError, UserError
from agio.execution.tool_executor import unknown_effect
from agio.gateway.counters import Counters
from agio.gateway.peers import Peers
from agio.gateway.tools.approvals import approved_arguments
from agio.gateway.tools.inputs import ResumedCall, asking_call, asking_record, resumed_call
from agio.gateway.tools.offers import tool_timeout_s
from agio.gateway.tools.rack import ToolRack
from agio.gateway.workers.connected_worker import ClaimedRun, RunAgent
from agio.gateway.workers.recorder import GONE
from agio.protocol.ids import id_body
from agio.protocol.messages import FunctionCall, Json, ToolCall
from agio.telemetry.context import bind_run

_log = logging.getLogger("agio.gateway")
_CANCELLED = ToolReply("Cancelled.", "cancelled")
_LOOK_S = 0.2
"""How often the record of a call is read that another gateway performs."""


class ToolBackend:
    """Runs the gateway's tools and records calls of the worker's own."""

    def __init__(
        self,
        store: Store,
        rack: ToolRack,
        counters: Counters,
        retry_s: float,
        peers: Peers | None = None,
    ) -> None:
        self._store = store
        self._peers = peers or Peers()
        self._rack = rack
        self._counters = counters
        self._retry_s = retry_s
        self._running: dict[tuple[str, str], asyncio.Task[ToolReply]] = {}
        self._acting: set[tuple[str, str]] = set()
        """Those of the running calls that are performed here, and not waited for at another gateway."""
        self._closing = False

    async def call(
        self,
        run: ClaimedRun,
        key: str,
        tool: str,
        arguments: dict[str, Json],
        lane: str = "",
        agent: str = "",
    ) -> ToolReply:
        """Run an agent's call, or wait for the same call that is running. It continues if the worker disconnects.

        Raises ToolError `tool_not_allowed`, or the tool's own, and StoreError, `link_lost` when the gateway stops.
        """
        caller = run.member(agent)
        offer = _allowed(run, [caller], tool, "gateway")
        running = self._running.get((run.info.run_id, key))
        if running is None:
            await self._check_key(run, key)
            running = self._running.get((run.info.run_id, key))
        if running is None:
            if run.cancelled:
                return _CANCELLED
            going_on = await resumed_call(self._store, run.info, key, tool) if offer.kind == "mcp" else None
            if going_on is not None:
                arguments = going_on.arguments
            elif offer.approval == "ask":
                arguments = await approved_arguments(self._store, run.info, key, tool, arguments)
            running = asyncio.create_task(self._perform(run, caller, key, offer, arguments, lane, going_on))
            self._running[run.info.run_id, key] = running
            running.add_done_callback(lambda _: self._forget(run.info.run_id, key))
        await asyncio.wait([running])
        if running.cancelled() and self._closing:
            raise StoreError("link_lost", "The gateway stops. The next claim settles this call.")
        return _CANCELLED if running.cancelled() else running.result()

    async def begin(self, run: ClaimedRun, key: str, tool: str, lane: str = "") -> ToolRecord | None:
        """Record the start of a worker's tool. Raises as `call` does."""
        effect = _effect_of(run, tool)
        await self._check_key(run, key)
        if run.cancelled:
            return ToolRecord(_CANCELLED.content, _CANCELLED.error)
        return await self._store.begin_tool(
            run.info.run_id, key, tool=tool, effect=effect, epoch=run.info.epoch, lane=lane
        )

    async def end(self, run: ClaimedRun, key: str, record: ToolRecord) -> None:
        """Record the result of a worker's tool. Raises ToolError, StoreError."""
        await self._check_key(run, key)
        if key in run.called:
            raise ToolError(
                "tool_not_allowed",
                f"{key} is a call of a tool of the gateway: a worker cannot record its result.",
            )
        await self._store.end_tool(run.info.run_id, key, record)

    @property
    def acting(self) -> list[tuple[str, str]]:
        """The calls that this gateway performs: run and key."""
        return list(self._acting)

    def cancel(self, run_id: str) -> None:
        """Cancel the running tools of a run."""
        for (owner, _), task in self._running.items():
            if owner == run_id:
                task.cancel()

    async def close(self) -> None:
        """Cancel every running tool. The effect of those that act once is then unknown."""
        self._closing = True
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _check_key(self, run: ClaimedRun, key: str) -> None:
        """Refuse a key of another session: a run may settle calls of earlier runs of its own session."""
        prefix, _, rest = key.partition("_")
        body = rest.rsplit("_", 2)[0]
        if prefix == "call" and body == id_body(run.info.run_id):
            return
        try:
            earlier = await self._store.get_run(f"run_{body}")
            if prefix == "call" and earlier.session_id == run.info.session_id:
                return
        except UserError:
            pass
        raise ToolError("tool_not_allowed", f"{key} is not a call of run {run.info.run_id}.")

    async def _perform(
        self,
        run: ClaimedRun,
        caller: RunAgent,
        key: str,
        offer: ToolOffer,
        arguments: dict[str, Json],
        lane: str,
        going_on: ResumedCall | None,
    ) -> ToolReply:
        info, agent = run.info, caller.agent
        bind_run(info)
        fresh = key in run.begun and key not in run.called
        run.called.add(key)
        if not fresh:
            known = await self._store.begin_tool(
                info.run_id, key, tool=offer.name, effect=offer.effect, epoch=info.epoch, lane=lane
            )
            if known is not None and known.content is None and self._peers.gateway:
                known = await self._await_owner(run, key, known)
            if (asking := asking_call(known)) is not None:
                return ToolReply("", None, asking.asks)
            if known is not None and known.content is not None:
                return ToolReply(known.content, known.error)
            if known is not None and offer.effect == "once":
                answer = unknown_effect(offer.name)
                return ToolReply(answer.content, answer.error)
        if run.cancelled:
            return await self._keep(run, key, offer, ToolAnswer("Cancelled.", "cancelled"))
        context = ToolContext(
            tenant=info.tenant,
            user=info.user,
            project=None,
            session=info.session_id,
            run=info.run_id,
            call_id=key,
            report=partial(_report, run, key),
            agent=agent.name,
            lane=lane,
            resumed=None if going_on is None else going_on.resumed,
            traceparent=under(info.traceparent, call_span(info.run_id, key)),
        )
        team = None
        if offer.kind in ("http", "mcp"):
            team = next((tool for tool in agent.tools if tool.name == offer.name), None)
        self._counters.tool_calls[offer.kind if team else offer.name] += 1
        call = ToolCall(key, FunctionCall(offer.name, ""))
        self._acting.add((info.run_id, key))
        try:
            executor = self._rack.executor(info.tenant, team, tool_timeout_s(agent))
            answer = await executor.call(call, context, arguments=arguments, recorded=True)
        except ToolError as error:
            await self._keep(run, key, offer, ToolAnswer(error.message, error.code))
            raise
        except UserError as error:  # an invalid definition
            answer = ToolAnswer(error.message, error.code)
        return await self._keep(run, key, offer, answer, arguments)

    def _forget(self, run_id: str, key: str) -> None:
        self._running.pop((run_id, key), None)
        self._acting.discard((run_id, key))

    async def _await_owner(self, run: ClaimedRun, key: str, known: ToolRecord) -> ToolRecord:
        """Wait for the result of a call that another gateway performs, while it extends the call's lease."""
        while known.content is None and not run.cancelled:
            owner, left_ms = await self._store.call_lease(run.info.run_id, key)
            is_performed = left_ms > 0 and self._peers.is_other(owner)
            if is_performed:
                await asyncio.sleep(min(_LOOK_S, left_ms / 1000))
            # Also after the lease: the result may have come in between.
            known = await self._store.begin_tool(run.info.run_id, key, epoch=run.info.epoch) or known
            if not is_performed:
                break
        return known

    async def _keep(
        self,
        run: ClaimedRun,
        key: str,
        offer: ToolOffer,
        answer: ToolAnswer,
        arguments: dict[str, Json] | None = None,
    ) -> ToolReply:
        """Store a result, or what the tool asks, before it is answered. A tool that only reads can be called again."""
        reply = ToolReply(answer.content, answer.error, list(answer.asks))
        record = ToolRecord(answer.content, answer.error)
        if answer.asks:
            record = asking_record(answer, arguments or {})
        while offer.effect != "read" or answer.asks:
            try:
                await self._store.end_tool(run.info.run_id, key, record)
                return reply
            except UserError:  # the run was deleted
                return reply
            except StoreError as error:
                if error.code in GONE:
                    return reply
                _log.warning("the result of call %s could not be stored and is retried: %s", key, error)
                await asyncio.sleep(self._retry_s)
        return reply


def _allowed(run: ClaimedRun, agents: Iterable[RunAgent], tool: str, place: str) -> ToolOffer:
    """Return the offer of a tool that one of these agents has. Raises ToolError `tool_not_allowed`."""
    for agent in agents:
        offer = agent.tools.get(tool)
        if offer is not None and offer.place == place:
            return offer
    raise ToolError(
        "tool_not_allowed",
        f"The agent of run {run.info.run_id} has no tool {tool} that runs at the {place}.",
    )


def _effect_of(run: ClaimedRun, tool: str) -> Effect:
    """Return the effect of a worker's tool. Raises ToolError `tool_not_allowed`.

    An agent in code may find tools while it runs, at MCP servers of its own: they act once.
    """
    agents = list(run.members)
    known = any(tool in agent.tools for agent in agents)
    if not known and any(agent.agent.source == "code" for agent in agents):
        return "once"
    return _allowed(run, agents, tool, "worker").effect


def _report(run: ClaimedRun, key: str, progress: Json) -> None:
    """Pass a call's progress on to the worker, which writes the log."""
    if run.worker.connection is not None and not run.cancelled:
        run.worker.connection.report(run.info.run_id, run.info.epoch, key, progress)
