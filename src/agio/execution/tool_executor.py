"""Runs an agent's tools: lookup, validation, timeout, once-only, error texts. The loop's `ToolRunner`."""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from typing import Protocol, cast

import msgspec

from agio.core.config import AgentRunConfig
from agio.core.model import ToolSpec
from agio.core.run.lane import COMPLETE_GOAL
from agio.core.schema.schema import convert
from agio.core.store.repository import Effect, ToolRecord, ToolRecords
from agio.core.tool import AnyTool, ToolAnswer, ToolContext
from agio.errors import AgioError, ToolError, UserError
from agio.execution.results import answer_of, cut
from agio.execution.threads import DaemonThreads
from agio.protocol.messages import Json, ToolCall

_log = logging.getLogger("agio.tools")
_threads = DaemonThreads()
_ERROR_BYTES = 4096
_ENVELOPE_BYTES = 1024
"""The size of an event without its result."""


class Standing(Protocol):
    """Whether this worker's claim is still valid: it can be lost without notice."""

    async def ready(self) -> None:
        """Wait until the claim's validity is known."""
        ...

    def holds(self) -> bool:
        """Whether a tool may start. Thread-safe."""
        ...

    async def fall(self) -> None:
        """Release the run; return after it has stopped."""
        ...


class _Fallen(Exception):
    """The claim could not be confirmed before the tool started: it did not run."""


class ToolExecutor:
    """The tools of one agent, ready to be called. Raises UserError `duplicate_tool`.

    `records` stores once-only calls; the calls of tools in `recorded_elsewhere` are recorded where they run.
    `standing` is checked immediately before a tool acts.
    """

    def __init__(
        self,
        tools: Sequence[AnyTool],
        config: AgentRunConfig,
        records: ToolRecords | None = None,
        recorded_elsewhere: Collection[str] = (),
        standing: "Standing | None" = None,
    ) -> None:
        self._tools: dict[str, AnyTool] = {}
        for tool in tools:
            if tool.name in self._tools:
                raise UserError(
                    "duplicate_tool", f"Two tools are named {tool.name}. Give one of them another name."
                )
            if tool.name == COMPLETE_GOAL:
                raise UserError(
                    "duplicate_tool", f"{tool.name} is a tool of agio's own. Name yours otherwise."
                )
            self._tools[tool.name] = tool
        self._config = config
        self._records = records
        self._recorded_elsewhere = frozenset(recorded_elsewhere)
        self._standing = standing
        self._specs = [tool.spec for tool in tools]

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """The tools as the model sees them."""
        return self._specs

    def is_client(self, call: ToolCall) -> bool:
        """Whether the client must run this call."""
        tool = self._tools.get(call.function.name)
        return tool is not None and tool.function is None

    def asks(self, call: ToolCall) -> bool:
        """Whether a person must approve the call. False if the call cannot run."""
        tool = self._tools.get(call.function.name)
        return (
            tool is not None
            and tool.function is not None
            and tool.approval == "ask"
            and not isinstance(self._arguments(tool, call, None), ToolAnswer)
        )

    def effect_of(self, call: ToolCall) -> Effect | None:
        """Return the effect of the call's tool; None for a call that cannot run here."""
        tool = self._tools.get(call.function.name)
        return None if tool is None or tool.function is None else tool.effect

    def add(self, tool: AnyTool) -> None:
        """Add a tool that was found during the run, unless there is one of its name."""
        if tool.name not in self._tools:
            self._tools[tool.name] = tool
            self._specs.append(tool.spec)

    async def call(
        self,
        call: ToolCall,
        context: ToolContext,
        *,
        arguments: dict[str, Json] | None = None,
        recorded: bool = False,
    ) -> ToolAnswer:
        """Run a call and return its answer. See `ToolRunner`."""
        tool = self._tools.get(call.function.name)
        if tool is None or tool.function is None:
            known = ", ".join(self._tools) or "none"
            return ToolAnswer(
                f"There is no tool named {call.function.name!r}. The tools are: {known}.", "bad_arguments"
            )
        ready = self._arguments(tool, call, arguments)
        if isinstance(ready, ToolAnswer):
            return ready
        if tool.context_parameter is not None:
            ready[tool.context_parameter] = _threadsafe(context)
        if (
            tool.effect != "once"
            or recorded
            or self._records is None
            or tool.name in self._recorded_elsewhere
        ):
            return await self._run(tool, ready, context)
        return await self._run_once(tool, ready, context, self._records)

    def _arguments(
        self, tool: AnyTool, call: ToolCall, replaced: dict[str, Json] | None
    ) -> dict[str, object] | ToolAnswer:
        """Decode and check the arguments. Errors become an answer that lets the model correct them."""
        try:
            value = (
                replaced
                if replaced is not None
                else cast(Json, msgspec.json.decode(call.function.arguments or "{}"))
            )
            if tool.arguments is not None:
                checked = cast(msgspec.Struct, convert(value, tool.arguments))
                return {name: getattr(checked, name) for name in checked.__struct_fields__}
            problem = tool.check(value) if tool.check is not None else None
            if problem is None and isinstance(value, dict):
                return dict(cast(dict[str, object], value))
        except (ValueError, RecursionError) as error:
            problem = str(error)
        text = cut(f"The arguments do not fit the tool {tool.name}: {problem}.", _ERROR_BYTES)
        return ToolAnswer(text, "bad_arguments")

    async def _run_once(
        self, tool: AnyTool, arguments: dict[str, object], context: ToolContext, records: ToolRecords
    ) -> ToolAnswer:
        """Run a once-only call: its start is recorded before it acts, and its result afterwards."""
        earlier = await records.begin_tool(
            context.run, context.call_id, tool=tool.name, effect=tool.effect, lane=context.lane
        )
        if earlier is not None:
            if earlier.content is not None:
                return ToolAnswer(earlier.content, earlier.error)
            return unknown_effect(tool.name)
        answer = await self._run(tool, arguments, context)
        await records.end_tool(context.run, context.call_id, ToolRecord(answer.content, answer.error))
        return answer

    async def _run(self, tool: AnyTool, arguments: dict[str, object], context: ToolContext) -> ToolAnswer:
        while True:
            if self._standing is not None:
                await self._standing.ready()
                if not self._standing.holds():
                    await self._standing.fall()
            try:
                return await self._act(tool, arguments, context)
            except _Fallen:  # the tool has not acted, so the call can run later
                continue

    async def _act(self, tool: AnyTool, arguments: dict[str, object], context: ToolContext) -> ToolAnswer:
        timeout_s = self._config.tool_timeout_s if tool.timeout_s is None else tool.timeout_s
        function = cast(Callable[..., object], tool.function)
        task = asyncio.ensure_future(_call(function, arguments, self._standing))
        try:
            done, _ = await asyncio.wait([task], timeout=timeout_s)
        except asyncio.CancelledError:
            await self._let_go(task, context)
            raise
        if not done:
            await self._let_go(task, context)
            if task.done() and not task.cancelled() and task.exception() is None:
                return self._answer(tool, task)  # it finished within the grace period
            return ToolAnswer(
                f"{tool.name} was stopped: it took longer than {timeout_s:g} s.", "tool_timeout"
            )
        return self._answer(tool, task)

    def _answer(self, tool: AnyTool, task: asyncio.Future[object]) -> ToolAnswer:
        if task.cancelled():
            return ToolAnswer(f"{tool.name} cancelled itself.", "tool_failed")
        error = task.exception()
        if error is None:
            config = self._config
            room = config.max_event_bytes - _ENVELOPE_BYTES
            return answer_of(task.result(), min(config.max_tool_result_bytes, room), room)
        if isinstance(error, (ToolError, _Fallen)):
            raise error
        if isinstance(error, KeyboardInterrupt):
            raise error
        if isinstance(error, AgioError):  # its message is written for the model
            _log.info("tool %s failed: %s", tool.name, error.code)
            return ToolAnswer(cut(f"{tool.name} failed: {error.message}", _ERROR_BYTES), error.code)
        _log.info("tool %s failed", tool.name, exc_info=error)
        return ToolAnswer(cut(f"{tool.name} failed: {_words(error)}", _ERROR_BYTES), "tool_failed")

    async def _let_go(self, task: asyncio.Future[object], context: ToolContext) -> None:
        """Signal the tool to stop, wait for the grace period, cancel it, and abandon it if it does not stop."""
        grace_s = self._config.cancel_grace_s
        context.cancel_signal.set()
        task.add_done_callback(lambda late: late.cancelled() or late.exception())
        try:
            await asyncio.wait([task], timeout=grace_s)
        finally:  # a second cancellation ends the grace period; the tool is still cancelled
            task.cancel()
        await asyncio.wait([task], timeout=grace_s)


def unknown_effect(tool: str) -> ToolAnswer:
    """Return the answer of a once-only call that was interrupted: its effect is unknown."""
    return ToolAnswer(
        f"It is unknown whether {tool} took effect: it was under way when the server stopped. "
        "Check before you call it again.",
        "unknown",
    )


async def _call(
    function: Callable[..., object], arguments: dict[str, object], standing: "Standing | None"
) -> object:
    def act() -> object:
        if standing is not None and not standing.holds():
            raise _Fallen
        return function(**arguments)

    try:
        if inspect.iscoroutinefunction(function):
            return await cast(Awaitable[object], act())
        result = await _threads.run(act)
        return await result if inspect.isawaitable(result) else result
    except SystemExit as error:
        raise RuntimeError("it tried to end the program") from error


def _threadsafe(context: ToolContext) -> ToolContext:
    """Make `progress` callable from a tool's thread."""
    loop = asyncio.get_running_loop()
    report = context.report

    def hop(value: Json) -> None:
        try:
            here = asyncio.get_running_loop() is loop
        except RuntimeError:
            here = False
        if here:
            report(value)
        else:
            with suppress(RuntimeError):  # the loop has closed
                loop.call_soon_threadsafe(report, value)

    context.report = hop
    return context


def _words(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:  # the tool's own exception class may fail here
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
