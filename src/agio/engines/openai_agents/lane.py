"""One lane of a run that the SDK's Runner drives: its model calls, tools, handoffs and sub-agents.

What the log has is answered from the log, so that the Runner comes again to where it stopped. What it has not is done
and written, as the loop does it.
"""

import json
from collections import Counter, deque
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from agents import FunctionTool, Handoff, RunContextWrapper, Tool
from agents.exceptions import (
    InputGuardrailTripwireTriggered,
    MaxTurnsExceeded,
    ModelBehaviorError,
    ModelRefusalError,
    OutputGuardrailTripwireTriggered,
)
from agents.items import ModelResponse, ToolApprovalItem, TResponseInputItem
from agents.tool_context import ToolContext as SdkToolContext
from msgspec import UNSET

from agio.core.engine.calls import answer_call, decisions_of
from agio.core.engine.context import Prompt
from agio.core.engine.handoffs import MAX_HANDOFFS
from agio.core.engine.history import conversation
from agio.core.engine.loop import LoopState
from agio.core.engine.results import emit_result
from agio.core.engine.subagent import FAILED, finish_lane, open_lane, timed
from agio.core.engine.turn import fitted, limited, stream_turn
from agio.core.model import ModelRequest, ToolSpec
from agio.core.run.metrics import now_s
from agio.core.store.repository import ToolBegin, TurnRecord
from agio.core.text import estimate_tokens
from agio.core.tool import ToolAnswer
from agio.engines.openai_agents.items import Item, Ledger, bytes_of, content_items, response_of
from agio.engines.openai_agents.models import ModelCall, OwnModelDriver, OwnRequest
from agio.engines.openai_agents.tools import CALLER
from agio.errors import AgioError, LimitExceeded, ModelError, ToolError, UserError
from agio.protocol.events import GUARDRAIL
from agio.protocol.ids import id_body
from agio.protocol.messages import (
    AssistantMessage,
    Content,
    FunctionCall,
    ToolCall,
    ToolMessage,
    UserMessage,
    decoded_object,
)

if TYPE_CHECKING:
    from agio.engines.openai_agents.engine import SdkRun

PLACE: ContextVar["SdkLane | None"] = ContextVar("agio_sdk_place", default=None)
"""The lane in which the Runner is working."""
ENTERING: ContextVar["SdkLane | None"] = ContextVar("agio_sdk_entering", default=None)
"""The lane of a sub-agent that the Runner is about to enter."""


def here() -> "SdkLane":
    """Return the lane in which the Runner is working."""
    lane = PLACE.get()
    if lane is None:
        raise RuntimeError("This agent is one that agio serves: run your own, not its copy.")
    return lane


class SdkLane:
    """A lane as the Runner sees it: from the user's newest message on, or from the sub-agent's task."""

    def __init__(self, run: "SdkRun", state: LoopState) -> None:
        self.run = run
        self.state = state
        self.failed: tuple[str, str] | None = None
        """Why the sub-agent failed, in words, and the error code."""
        self._recorded = deque(state.lane.turns)
        self._decisions = decisions_of(state)
        said = state.lane.messages
        asked = max((at for at, message in enumerate(said) if isinstance(message, UserMessage)), default=0)
        while asked and isinstance(said[asked - 1], UserMessage):
            asked -= 1
        self._start = asked
        before, _ = conversation(state.lane)
        earlier = before[: max(0, len(before) - (len(said) - asked))]
        self._ledger = Ledger(earlier, state.lane.vendor, state.agent.model_id)
        self._history = Counter(bytes_of(item) for item in self._ledger.items)
        self._newest: AssistantMessage | None = None
        self._context: tuple[RunContextWrapper[Any], Any] | None = None

    def input(self) -> list[Item]:
        """Return what the Runner begins with: the conversation, and the user's newest messages."""
        items = list(self._ledger.items)
        for message in self.state.lane.messages[self._start :]:
            if not isinstance(message, UserMessage):
                break
            items += self._ledger.add(message)
        return items

    def note_context(self, context: RunContextWrapper[Any], agent: object) -> None:
        """Keep the Runner's context, in which calls are approved."""
        self._context = context, agent

    @contextmanager
    def _keeping(self) -> Generator[None]:
        """Keep the error that ends the run: the Runner may wrap it, or give its words to the model."""
        try:
            yield
        except AgioError as error:
            if (
                not self.state.lane.key
                or not isinstance(error, _OF_SUBAGENTS)
                or error.code == "replay_diverged"
            ):
                self.run.failure = self.run.failure or error
            raise

    # Model calls

    async def ask(self, call: ModelCall) -> ModelResponse:
        """Answer a model call with the recorded turn, or with a new one. Raises UserError `replay_diverged`."""
        with self._keeping():
            digest = self._digest(call)
            if self._recorded:
                record = self._recorded.popleft()
                self._compare(record, digest)
            else:
                await self._take_turn(call, digest)
                record = self.state.lane.turns[-1]
            return self._response(record, {handoff.tool_name for handoff in call.handoffs})

    def _digest(self, call: ModelCall) -> str:
        """Return the digests of a request's parts. What the conversation was before the exchange is left out."""
        history, said = Counter(self._history), bytearray()
        for item in call.input:
            line = bytes_of(item)
            if history[line] > 0:
                history[line] -= 1
            else:
                said += line
        parts = {**call.parts, "conversation": said.decode()}
        return ".".join(
            f"{name}:{blake2b(bytes_of(part), digest_size=8).hexdigest()}" for name, part in parts.items()
        )

    def _compare(self, record: TurnRecord, digest: str) -> None:
        if record.digest == digest:
            return
        before = set(record.digest.split("."))
        changed = [part.partition(":")[0] for part in digest.split(".") if part not in before]
        words = (
            f"Step {record.step} asks the model something else than when it ran first: its {', '.join(changed)} "
            "changed. Keep what the agent sends the same while a run is under way, and start this one again."
        )
        raise UserError("replay_diverged", words, {"step": record.step, "changed": changed})

    async def _take_turn(self, call: ModelCall, digest: str) -> None:
        """Take a turn for the first time, and commit it."""
        state = self.state
        self.settle(call.input)
        await state.follow()
        if state.lane.turn_done:
            state.end_step()
        state.begin_step()
        await state.context.fetch(state.lane)
        await state.journal.commit()  # what the tools did is durable before the model hears of it
        if isinstance(state.driver, OwnModelDriver):
            resolved = with_input(call, [self._shown(item) for item in call.input])
            request = OwnRequest(model=state.agent.model, system="", messages=(), call=resolved)
            await stream_turn(state, lambda _: request, (), digest)
        else:
            await self._ask_driver(call, digest)
        await state.journal.commit()

    async def _ask_driver(self, call: ModelCall, digest: str) -> None:
        """Send a model call with the agent's driver."""
        state = self.state
        messages = self._ledger.messages(call.input, state.lane.messages)
        specs = call.chosen()
        reserved = _tokens_of(specs)

        def compose() -> Prompt:
            lane = state.lane
            summarised = (
                {m.id for m in lane.messages} - {m.id for m in lane.shown} if lane.summary else set[str]()
            )
            said = [message for message in messages if message.id not in summarised]
            asked = max((at for at, m in enumerate(said) if isinstance(m, UserMessage)), default=0)
            return state.context.fit(
                said, asked, reserved, state.tokens_left, call.system or "", state.context.summary(lane)
            )

        prompt = await fitted(state, reserved, compose)
        settings = call.settings_over(state.config.model)

        def request(used: int) -> ModelRequest:
            return ModelRequest(
                model=state.agent.model,
                system=prompt.system,
                messages=prompt.messages,
                vendor=state.lane.vendor,
                tools=specs,
                output=call.output_spec,
                settings=limited(state, settings, max(prompt.tokens, used)),
            )

        await stream_turn(state, request, prompt.context, digest)

    def _shown(self, item: TResponseInputItem) -> Item:
        """Return an item with the files of its message as the model takes them."""
        message = self._ledger.message(item)
        if not isinstance(message, UserMessage) or isinstance(message.content, str):
            return dict(item)
        shown = self.state.context.show(message)
        return (
            {**item, "content": content_items(shown.content)}
            if isinstance(shown, UserMessage)
            else dict(item)
        )

    def _response(self, record: TurnRecord, handoffs: set[str]) -> ModelResponse:
        lane = self.state.lane
        message_id = f"msg_{id_body(record.run_id)}_{record.step}"
        found = (m for m in reversed(lane.messages) if m.id == message_id and isinstance(m, AssistantMessage))
        self._newest = next(found, None)
        response = response_of(self._ledger.turn_items(self._newest, record.vendor), record)
        self._approve(response, handoffs)
        return response

    def _approve(self, response: ModelResponse, handoffs: set[str]) -> None:
        """Approve the calls that need no person any more, or none: the Runner then makes them."""
        for item in response.output:
            if self._context is None or item.type != "function_call" or item.name in handoffs:
                continue
            call = self._call(item.call_id)
            if call.id in self._decisions or self._result(call.id) is not None or not self.waits(call):
                context, agent = self._context
                context.approve_tool(ToolApprovalItem(agent=agent, raw_item=item, tool_name=item.name))

    def waits(self, call: ToolCall) -> bool:
        """Whether a call may have to wait for a person or a client."""
        return self.state.tools.is_client(call) or self.state.tools.asks(call)

    # Tools

    def _call(self, sdk_id: str) -> ToolCall:
        """Return a call of the newest turn by the SDK's id. Raises UserError `replay_diverged`."""
        call_id = self._ledger.call_id(sdk_id)
        calls = [] if self._newest is None or self._newest.tool_calls is UNSET else self._newest.tool_calls
        for call in calls:
            if call.id == call_id:
                return call
        raise UserError("replay_diverged", "The Runner made a call that the newest turn does not have.")

    def _result(self, call_id: str) -> ToolMessage | None:
        messages = reversed(self.state.lane.messages)
        return next((m for m in messages if isinstance(m, ToolMessage) and m.tool_call_id == call_id), None)

    def arguments(self, sdk_id: str) -> str:
        """Return the arguments of a call of the newest turn."""
        return self._call(sdk_id).function.arguments

    def client_tools(self) -> list[Tool]:
        """Return the tools that the client runs: the Runner stops before one, as before a question."""

        async def given(context: SdkToolContext[Any], _: str) -> object:
            return await here().call_tool(context)

        return [
            FunctionTool(
                name=spec.name,
                description=spec.description,
                params_json_schema=dict(spec.parameters),
                on_invoke_tool=given,
                strict_json_schema=False,
                needs_approval=True,
            )
            for spec in self.state.tools.specs
            if self.state.tools.is_client(ToolCall("", FunctionCall(spec.name, "")))
        ]

    async def call_tool(self, context: SdkToolContext[Any], *, strict: bool = False) -> object:
        """Return the result of a call: the recorded one, or that of the tool. `strict`: a time-out ends the run."""
        with self._keeping():
            call = self._call(context.tool_call_id)
            known = self._result(call.id)
            if known is None:
                with self.run.acting():
                    answer = await self._perform(call, context)
            else:
                answer = ToolAnswer(known.content, None if known.error is UNSET else known.error)
            if strict and answer.error == "tool_timeout":
                raise ToolError("tool_raised", str(answer.content))
            return _output(answer.content)

    async def _perform(self, call: ToolCall, context: SdkToolContext[Any]) -> ToolAnswer:
        state, started = self.state, now_s()
        effect = state.tools.effect_of(call)
        if call.id in state.fresh and effect is not None:
            state.journal.begin(ToolBegin(call.id, call.function.name, effect, state.lane.key))
        await state.journal.commit()
        state.begun[call.id] = effect
        CALLER.set(context)
        try:
            answer = await answer_call(state, call, self._decisions.get(call.id))
        finally:
            CALLER.set(None)
            state.watch.tools_s += now_s() - started
        emit_result(state, call.id, answer)
        return answer

    def settle(self, items: list[TResponseInputItem]) -> None:
        """Record the results that the Runner gave by itself: of an unknown tool, or of a second handoff."""
        outputs = {
            self._ledger.call_id(str(item.get("call_id"))): item.get("output")
            for item in map(dict, items)
            if item.get("type") == "function_call_output"
        }
        for call in list(self.state.lane.pending):
            if call.id in outputs:
                is_handoff = call.function.name in self.state.edges
                said = ToolAnswer(str(outputs[call.id]), "not_run" if is_handoff else "bad_arguments")
                emit_result(self.state, call.id, said)

    # Handoffs

    async def hand_over(
        self, handoff: Handoff[Any, Any], target: Any, context: RunContextWrapper[Any], given: str
    ) -> None:
        """Record a handoff, unless the log has it. Raises LimitExceeded `handoff_limit`."""
        with self._keeping():
            state = self.state
            calls = (
                [] if self._newest is None or self._newest.tool_calls is UNSET else self._newest.tool_calls
            )
            call = next(call for call in calls if call.function.name == handoff.tool_name)
            if self._result(call.id) is not None:
                return
            if state.lane.handed_by != call.id:
                if state.fold.handoffs >= MAX_HANDOFFS:
                    words = f"The run has handed over {MAX_HANDOFFS} times."
                    raise LimitExceeded("handoff_limit", words)
                await handoff.on_invoke_handoff(context, given)
                reason = decoded_object(given or "{}").get("reason")
                value = {"from": state.agent.name, "to": target.name, "filter": "all", "call": call.id}
                state.hand_over(
                    {**value, "reason": reason} if isinstance(reason, str) and reason else {**value}
                )
            emit_result(state, call.id, ToolAnswer(handoff.get_transfer_message(target)))

    # Sub-agents

    async def call_agent(
        self, tool: FunctionTool, name: str, context: SdkToolContext[Any], given: str
    ) -> object:
        """Let a sub-agent answer a call in a lane of its own, or return the recorded answer."""
        with self._keeping():
            call = self._call(context.tool_call_id)
            known = self._result(call.id)
            if known is not None:
                return _output(known.content)
            with self.run.acting():
                return await self._run_agent(tool, name, call, context, given)

    async def _run_agent(
        self, tool: FunctionTool, name: str, call: ToolCall, context: SdkToolContext[Any], given: str
    ) -> object:
        state = self.state
        await state.journal.commit()
        decision = self._decisions.get(call.id)
        key = f"sub_{id_body(call.id)}"
        lane = state.fold.lanes.get(key)
        answer = None
        if decision is not None and not decision.approved:
            answer = ToolAnswer(f"Not approved: {decision.reason}", "not_approved")
        elif lane is not None and lane.state == "failed":
            answer = ToolAnswer(f"{lane.agent} failed: {lane.result}", lane.error_code)
        elif lane is None or lane.state == "waiting":
            task = decoded_object(given).get("input")
            answer = open_lane(state, call, name, task if isinstance(task, str) else given)
        if answer is not None:
            emit_result(state, call.id, answer)
            return _output(answer.content)
        child = state.child(state.team[name], state.fold.lanes[key])
        inner: SdkLane | None = None
        try:
            async with timed(child):
                if not await child.follow():
                    await child.gather()
                inner = SdkLane(self.run, child)
                ENTERING.set(inner)
                output = await tool.on_invoke_tool(context, given)
        except LimitExceeded as error:
            if inner is None or inner.failed is not None or error.code != "time_budget":
                raise
            inner.fail(error)
            output = f"{name} failed: {error.message}"
        self.run.check()
        if child.lane.state == "open" and inner.failed is None:
            finish_lane(child)
        if child.lane.state == "suspended":
            state.asked.extend(child.questions())
            return output
        text = output if isinstance(output, str) else str(output)
        emit_result(state, call.id, ToolAnswer(text, None if inner.failed is None else inner.failed[1]))
        return text

    def fail(self, error: Exception) -> None:
        """Close the lane of a sub-agent that failed, unless the run fails. The agent that called it continues."""
        if self.run.failure is not None:
            return
        cause = cause_of(error)
        self.failed = (cause.message, cause.code)
        self.state.count_partial_usage()
        self.state.close(FAILED, self.failed, keep=False)

    # Guardrails

    def guarded(self, place: str, name: str) -> bool:
        """Whether the log says that a guardrail has passed what was said."""
        return f"{place}:{name}" in self.state.lane.passed

    def note_guardrail(self, place: str, name: str, action: str) -> None:
        """Record what a guardrail decided."""
        self.state.tell(GUARDRAIL, {"check": name, "place": place, "action": action})


_OF_SUBAGENTS = (LimitExceeded, ModelError, UserError)
"""What fails a sub-agent and not the run."""


def cause_of(error: BaseException) -> AgioError:
    """Return the error of ours for an exception of the Runner, which may wrap one."""
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, AgioError):
            return inner
        inner = inner.__cause__ or inner.__context__
    match error:
        case InputGuardrailTripwireTriggered(guardrail_result=result):
            return _tripped(result.guardrail.get_name(), "input")
        case OutputGuardrailTripwireTriggered(guardrail_result=result):
            return _tripped(result.guardrail.get_name(), "answer")
        case MaxTurnsExceeded():
            return LimitExceeded("step_limit", f"The agent took all of its steps: {error}.")
        case ModelRefusalError():
            return ModelError("invalid_response", f"The model refused to give the answer its type: {error}.")
        case ModelBehaviorError():
            if "JSON" in str(error):
                return LimitExceeded("output_invalid", f"The answer does not fit the output type: {error}")
            return ModelError("invalid_response", f"The model's answer cannot be used: {error}")
        case _:
            return UserError("agent_failed", f"The agent's own code failed: {type(error).__name__}: {error}.")


def _tripped(name: str, what: str) -> LimitExceeded:
    return LimitExceeded("guardrail_tripped", f"The guardrail {name} refused the {what}.")


def with_input(call: ModelCall, items: list[Item]) -> ModelCall:
    """Return a model call with other items."""
    return ModelCall(call.system, items, call.settings, call.tools, call.output, call.handoffs)  # pyright: ignore[reportArgumentType]


def _tokens_of(specs: list[ToolSpec]) -> int:
    return sum(
        estimate_tokens(f"{spec.name} {spec.description} {json.dumps(spec.parameters)}") for spec in specs
    )


def _output(content: Content) -> object:
    """Return a result's content as the Runner takes it."""
    if isinstance(content, str):
        return content
    kinds = {"input_text": "text", "input_image": "image", "input_file": "file"}
    return [
        {**item, "type": kinds[item["type"]]} for item in content_items(content) if isinstance(item, dict)
    ]
