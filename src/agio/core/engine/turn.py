"""One model turn: stream it under timeouts; on failure, rewind it and retry with backoff."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, assert_never

from msgspec import structs

from agio.core.engine.citations import cite
from agio.core.engine.compaction import compact
from agio.core.engine.context import Prompt
from agio.core.engine.finder import size_of
from agio.core.engine.watchdog import Watchdog, retry_delay
from agio.core.model import (
    ModelEvent,
    ModelRequest,
    OutputSpec,
    PartialUsage,
    ReasoningDelta,
    StatusUpdate,
    TextDelta,
    ToolCallBegin,
    ToolCallDelta,
    ToolCallDone,
    ToolOutcome,
    ToolSpec,
    TurnEnd,
    Usage,
)
from agio.core.run.closing import rewind_events
from agio.core.run.metrics import now_s
from agio.core.store.repository import TurnRecord
from agio.errors import LimitExceeded, ModelError
from agio.protocol.codec import encode
from agio.protocol.events import (
    ERROR,
    ReasoningMessageChunk,
    TextMessageChunk,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallResult,
    ToolCallStart,
)
from agio.protocol.ids import id_body
from agio.protocol.messages import Json

if TYPE_CHECKING:
    from agio.core.engine.loop import LoopState


async def take_turn(state: "LoopState") -> None:
    """Take one model turn, with retries, and record it. Raises ModelError, LimitExceeded."""
    await state.context.fetch(state.lane)
    tools = state.tool_specs
    prompt = await _prompt(state, tools)
    request = _request(state, prompt, tools)
    failures: Counter[str] = Counter()
    while True:
        state.calling, state.partial_usage = True, Usage()
        attempt = _Attempt(state)
        try:
            end = await attempt.stream(request)
            break
        except ModelError as error:
            take_back(state)
            state.calling = error.code in _NOT_REFUSED or state.partial_usage.total > 0
            failures[error.code] += 1
            delay_s = retry_delay(state.config, error, failures)
            if delay_s is None:
                raise
            # The retry sends the same prompt, which takes at least the reported input tokens.
            prompt = structs.replace(prompt, tokens=max(prompt.tokens, state.partial_usage.input))
            request = _request(state, prompt, tools)
            state.tell(
                ERROR,
                {
                    "code": error.code,
                    "message": error.message,
                    "attempt": failures.total(),
                    "retry_in_ms": round(delay_s * 1000),
                    **_used(state),
                },
            )
            state.partial_usage = Usage()
            await asyncio.sleep(delay_s)
    cite(state)
    journal = state.journal
    journal.record(
        TurnRecord(
            state.fold.run_id,
            state.lane.step,
            journal.seq,
            state.agent.model_id,
            end.stop,
            end.usage,
            end.vendor,
            state.lane.key,
            request_digest(request),
            prompt.context,
        )
    )
    state.calling, state.partial_usage = False, Usage()
    for index, outcome in attempt.outcomes.items():
        result = ToolCallResult(attempt.id("res", index), attempt.id("call", index), outcome.content)
        journal.emit(state.lane.own(result))
    state.fresh = {call.id for call in state.lane.pending}
    if end.stop in ("length", "refusal", "content_filter"):
        state.notice(f"stopped_{end.stop}", _STOPS[end.stop])


_NOT_REFUSED = frozenset(
    {
        "connection_failed",
        "first_token_timeout",
        "idle_timeout",
        "invalid_response",
        "stream_broken",
        "turn_timeout",
    }
)
"""Failures whose token usage is unknown. A call that the vendor refused used no tokens."""
_STOPS = {
    "length": "The model stopped because its answer reached the largest size allowed.",
    "refusal": "The model refused to answer.",
    "content_filter": "The provider's content filter stopped the answer.",
}


def _used(state: "LoopState") -> dict[str, Json]:
    """Return the partial usage of a model call that broke off, as fields of its error event."""
    if not state.partial_usage.total:
        return {}
    return {"model": state.agent.model_id, "usage": structs.asdict(state.partial_usage)}


def take_back(state: "LoopState") -> None:
    """Rewind the lane's unfinished turn: end its open calls, then emit `agio.rewind`."""
    for event in rewind_events(state.lane):
        state.journal.emit(event)


async def _prompt(state: "LoopState", tools: Sequence[ToolSpec]) -> Prompt:
    reserved = sum(map(size_of, tools))
    prompt = state.context.compose(state.lane, reserved, state.tokens_left)
    if prompt.overfull and await compact(state, reserved):
        prompt = state.context.compose(state.lane, reserved, state.tokens_left)
    for code, message in prompt.notices:
        state.notice(code, message)
    return prompt


def _room(state: "LoopState", prompt: Prompt) -> int | None:
    """Return the output token limit of the next call. Raises LimitExceeded if the token budget is too small."""
    left, largest = state.check_budget(prompt.tokens), state.config.model.max_output_tokens
    if left is None:
        return largest
    return left if largest is None else min(left, largest)


def _request(state: "LoopState", prompt: Prompt, tools: Sequence[ToolSpec]) -> ModelRequest:
    output = state.agent.output
    return ModelRequest(
        model=state.agent.model,
        system=prompt.system,
        messages=prompt.messages,
        vendor=state.lane.vendor,
        tools=tools,
        output=None if output is None else OutputSpec(output.name, output.schema),
        settings=structs.replace(state.config.model, max_output_tokens=_room(state, prompt)),
    )


def request_digest(request: ModelRequest) -> str:
    """Return a digest of what the model is sent, so that a request composed again can be compared with it."""
    sent = (request.model, request.system, request.messages, request.tools, request.output, request.settings)
    return hashlib.blake2b(encode(sent), digest_size=16).hexdigest()


class _Attempt:
    """One attempt at a turn: converts model events into events of the log."""

    def __init__(self, state: "LoopState") -> None:
        self._state = state
        self._journal = state.journal
        self._lane = state.lane
        self._body = f"{id_body(state.fold.run_id)}_{state.lane.step}"
        self._text_id = f"msg_{self._body}"
        self._reasoning_id = f"rsn_{self._body}"
        self._piece = state.config.max_event_bytes // 8
        self._limit_bytes = state.journal.size_bytes + state.config.max_turn_bytes
        self._end: TurnEnd | None = None
        self.outcomes: dict[int, ToolOutcome] = {}

    def id(self, prefix: str, index: int) -> str:
        """Return the id of the turn's call `index`, or of its result. It never contains the vendor's id."""
        return f"{prefix}_{self._body}_{index}"

    async def stream(self, request: ModelRequest) -> TurnEnd:
        """Read the turn to its end. Raises ModelError, LimitExceeded."""
        watch = self._state.watch
        watch.attempts += 1
        started = now_s()
        guard = Watchdog(self._state.config)
        try:
            async with guard.guarded(), aclosing(self._state.driver.stream(request)) as stream:
                async for batch in stream:
                    said = any(event.__class__ is not PartialUsage for event in batch)
                    if said and watch.first_token_s is None:
                        watch.first_token_s = now_s() - started
                    guard.alive(said)
                    for event in batch:
                        self._take(event)
                    if self._end is None:
                        # Time spent waiting for the store or the reader does not count as model idle time.
                        guard.held = True
                        await self._journal.drain()
                        guard.held = False
                        guard.alive(False)
        finally:
            watch.model_s += now_s() - started
        if self._end is None:
            raise ModelError(
                "stream_broken", "The model's stream ended before its answer did.", retryable=True
            )
        if self._lane.draft is not None:
            for call_id in self._lane.draft.open_calls():
                self._emit(ToolCallEnd(call_id))
        return self._end

    def _emit(
        self,
        event: TextMessageChunk | ReasoningMessageChunk | ToolCallStart | ToolCallArgs | ToolCallEnd,
    ) -> None:
        if self._lane.key:
            event.subagent_run_id = self._lane.key
        self._journal.emit(event)
        if self._journal.size_bytes > self._limit_bytes:
            limit_bytes = self._state.config.max_turn_bytes
            raise LimitExceeded("turn_too_large", f"The model's turn has more than {limit_bytes} bytes.")

    def _take(self, event: ModelEvent) -> None:
        emit = self._emit
        match event:
            case TextDelta(text=text):
                for piece in self._pieces(text):
                    emit(TextMessageChunk(self._text_id, delta=piece))
            case ToolCallDelta(index=index, arguments=arguments):
                for piece in self._pieces(arguments):
                    emit(ToolCallArgs(self.id("call", index), piece))
            case ReasoningDelta(text=text):
                for piece in self._pieces(text):
                    emit(ReasoningMessageChunk(self._reasoning_id, piece))
            case TurnEnd():
                self._end = event
            case PartialUsage(usage=usage):
                self._state.partial_usage = usage
            case ToolCallBegin(index=index, name=name):
                emit(ToolCallStart(self.id("call", index), name, self._text_id))
            case ToolCallDone(index=index):
                emit(ToolCallEnd(self.id("call", index)))
            case ToolOutcome(index=index):
                self.outcomes[index] = event
            case StatusUpdate(code=code, message=message):
                self._state.notice(code, message)
            case _:
                assert_never(event)

    def _pieces(self, text: str) -> Sequence[str]:
        """Split text that is too large for one event."""
        if len(text) <= self._piece:
            return (text,) if text else ()
        return [text[at : at + self._piece] for at in range(0, len(text), self._piece)]
