"""Tools that run at the gateway, for workers that ask (law 5): in scope, checked, recorded, done once.

What a tool is told of its call comes from the run's row, never from the worker.
"""

import asyncio
import logging

from agio.core.link.link import ToolOffer, ToolReply
from agio.core.store.repository import ToolRecord
from agio.core.store.store import Store
from agio.core.tool import ToolAnswer, ToolContext
from agio.errors import StoreError, ToolError, UserError
from agio.execution.tool_executor import unknown_effect
from agio.gateway.counters import Counters
from agio.gateway.tools.approvals import approved_arguments
from agio.gateway.tools.offers import tool_timeout_s
from agio.gateway.tools.rack import ToolRack
from agio.gateway.workers.pool import HeldRun
from agio.gateway.workers.recorder import GONE
from agio.protocol.ids import id_body
from agio.protocol.messages import FunctionCall, Json, ToolCall
from agio.telemetry.context import bind_run

_log = logging.getLogger("agio.gateway")
_CANCELLED = ToolReply("Cancelled.", "cancelled")


class ToolBackend:
    """Runs the gateway's tools, and keeps the record of the worker's own."""

    def __init__(
        self,
        store: Store,
        rack: ToolRack,
        counters: Counters,
        retry_s: float,
    ) -> None:
        self._store = store
        self._rack = rack
        self._figures = counters
        self._retry_s = retry_s
        self._running: dict[tuple[str, str], asyncio.Task[ToolReply]] = {}
        self._closing = False

    async def call(self, held: HeldRun, key: str, tool: str, arguments: dict[str, Json]) -> ToolReply:
        """Run a call, or wait for whoever runs it already. It goes on if the asker goes.

        Raises ToolError `tool_not_allowed`, or the tool's own, and StoreError, `link_lost` when the gateway stops.
        """
        offer = self._allowed(held, tool, "gateway")
        running = self._running.get((held.info.run_id, key))
        if running is None:
            await self._check_key(held, key)
            running = self._running.get((held.info.run_id, key))
        if running is None:
            if held.cancelled:
                return _CANCELLED
            if offer.approval == "ask":
                arguments = await approved_arguments(self._store, held.info, key, tool, arguments)
            running = asyncio.create_task(self._perform(held, key, offer, arguments))
            self._running[held.info.run_id, key] = running
            running.add_done_callback(lambda _: self._running.pop((held.info.run_id, key), None))
        await asyncio.wait([running])
        if running.cancelled() and self._closing:
            raise StoreError("link_lost", "The gateway stops: the call's fate is settled by the next claim.")
        return _CANCELLED if running.cancelled() else running.result()

    async def begin(self, held: HeldRun, key: str, tool: str) -> ToolRecord | None:
        """Record that a tool of the worker's begins. Raises as `call` does."""
        offer = self._allowed(held, tool, "worker")
        await self._check_key(held, key)
        if held.cancelled:
            return ToolRecord(_CANCELLED.content, _CANCELLED.error)
        return await self._store.begin_tool(
            held.info.run_id, key, tool=tool, effect=offer.effect, epoch=held.info.epoch
        )

    async def end(self, held: HeldRun, key: str, record: ToolRecord) -> None:
        """Record the result of a tool of the worker's. Raises ToolError, StoreError."""
        await self._check_key(held, key)
        if key in held.called:
            raise ToolError("tool_not_allowed", f"The result of {key} is the gateway's to keep.")
        await self._store.end_tool(held.info.run_id, key, record)

    def cancel(self, run_id: str) -> None:
        """Tell the tools of a run to stop."""
        for (owner, _), task in self._running.items():
            if owner == run_id:
                task.cancel()

    async def close(self) -> None:
        """Stop every tool; what became of those that happen once is unknown."""
        self._closing = True
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _allowed(self, held: HeldRun, tool: str, place: str) -> ToolOffer:
        offer = held.tools.get(tool)
        if offer is None or offer.place != place:
            raise ToolError(
                "tool_not_allowed",
                f"The agent of run {held.info.run_id} has no tool {tool} of the {place}'s.",
            )
        return offer

    async def _check_key(self, held: HeldRun, key: str) -> None:
        """Refuse a key that is not of this run, nor of a run of its session whose calls it settles."""
        prefix, _, rest = key.partition("_")
        body = rest.rsplit("_", 2)[0]
        if prefix == "call" and body == id_body(held.info.run_id):
            return
        try:
            earlier = await self._store.get_run(f"run_{body}")
            if prefix == "call" and earlier.session_id == held.info.session_id:
                return
        except UserError:
            pass
        raise ToolError("tool_not_allowed", f"{key} is no call of run {held.info.run_id}.")

    async def _perform(
        self, held: HeldRun, key: str, offer: ToolOffer, arguments: dict[str, Json]
    ) -> ToolReply:
        info = held.info
        bind_run(info)
        fresh = key in held.begun and key not in held.called
        held.called.add(key)
        if not fresh:
            known = await self._store.begin_tool(
                info.run_id, key, tool=offer.name, effect=offer.effect, epoch=info.epoch
            )
            if known is not None and known.content is not None:
                return ToolReply(known.content, known.error)
            if known is not None and offer.effect == "once":
                answer = unknown_effect(offer.name)
                return ToolReply(answer.content, answer.error)
        if held.cancelled:
            return await self._keep(held, key, offer, ToolAnswer("Cancelled.", "cancelled"))
        context = ToolContext(
            tenant=info.tenant,
            user=info.user,
            project=None,
            session=info.session_id,
            run=info.run_id,
            call_id=key,
            report=lambda _: None,
            agent=held.agent.name,
        )
        team = next((tool for tool in held.agent.tools if tool.name == offer.name and tool.http), None)
        self._figures.tool_calls["http" if team else offer.name] += 1
        call = ToolCall(key, FunctionCall(offer.name, ""))
        try:
            executor = self._rack.executor(info.tenant, team, tool_timeout_s(held.agent))
            answer = await executor.call(call, context, arguments=arguments, recorded=True)
        except ToolError as error:
            await self._keep(held, key, offer, ToolAnswer(error.message, error.code))
            raise
        except UserError as error:  # a definition that no tool can be made of
            answer = ToolAnswer(error.message, error.code)
        return await self._keep(held, key, offer, answer)

    async def _keep(self, held: HeldRun, key: str, offer: ToolOffer, answer: ToolAnswer) -> ToolReply:
        """Make a result durable before it is answered; what only reads can be done again."""
        reply = ToolReply(answer.content, answer.error)
        while offer.effect != "read":
            try:
                await self._store.end_tool(held.info.run_id, key, ToolRecord(answer.content, answer.error))
                return reply
            except UserError:  # the run was deleted
                return reply
            except StoreError as error:
                if error.code in GONE:
                    return reply
                _log.warning("the result of call %s waits for the store: %s", key, error)
                await asyncio.sleep(self._retry_s)
        return reply
