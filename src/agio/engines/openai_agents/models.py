"""The SDK's models: a program's own one as a driver of ours, and the requests of the others for our drivers."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, cast

import openai
from agents import FunctionTool, Handoff, Model, ModelResponse, ModelSettings, Tool
from agents.agent_output import AgentOutputSchemaBase
from agents.items import TResponseInputItem, TResponseStreamEvent
from agents.models.interface import ModelTracing
from msgspec import Struct, structs

from agio.core.model import (
    ModelEvent,
    ModelRequest,
    OutputSpec,
    ReasoningDelta,
    StopReason,
    TextDelta,
    ToolCallBegin,
    ToolCallDelta,
    ToolCallDone,
    ToolSpec,
    TurnEnd,
    Usage,
    VendorTurn,
)
from agio.core.model import ModelSettings as OurSettings
from agio.drivers.faults import Faults
from agio.engines.openai_agents.items import WIRE, Item, json_of
from agio.errors import AgioError, ModelError
from agio.protocol.messages import Json

_EFFORTS = ("minimal", "low", "medium", "high")
_TEXT = ("response.output_text.delta", "response.refusal.delta")
_REASONING = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
_ENDS = ("response.completed", "response.incomplete", "response.failed")


class ModelCall(Struct, frozen=True):
    """A model call of the SDK's Runner."""

    system: str | None
    input: list[TResponseInputItem]
    settings: ModelSettings
    tools: list[Tool]
    output: AgentOutputSchemaBase | None
    handoffs: list[Handoff[Any, Any]]

    @property
    def specs(self) -> list[ToolSpec]:
        """The tools and handoffs as our drivers send them."""
        functions = [tool for tool in self.tools if isinstance(tool, FunctionTool)]
        own = [ToolSpec(tool.name, tool.description, _schema(tool.params_json_schema)) for tool in functions]
        over = [
            ToolSpec(each.tool_name, each.tool_description, _schema(each.input_json_schema))
            for each in self.handoffs
        ]
        return [*own, *over]

    @property
    def output_spec(self) -> OutputSpec | None:
        """The schema of the answer as our drivers send it."""
        if self.output is None or self.output.is_plain_text():
            return None
        return OutputSpec("final_output", cast("dict[str, Json]", self.output.json_schema()))

    @property
    def parts(self) -> Mapping[str, Json]:
        """What the model is sent besides the conversation, by what a person would call it."""
        settings = self.settings.to_json_dict()
        # The Runner draws a new key for each run.
        extra = {k: v for k, v in (self.settings.extra_args or {}).items() if k != "prompt_cache_key"}
        output = None if self.output_spec is None else self.output_spec.schema
        return {
            "instructions": self.system,
            "tools": json_of(self.specs),
            "settings": json_of([{**settings, "extra_args": extra}, output]),
        }

    def chosen(self) -> list[ToolSpec]:
        """Return the tools that the model may choose from: the one that the settings name, or all."""
        named = self.settings.tool_choice
        specs = self.specs
        return [spec for spec in specs if spec.name == named] or specs

    def settings_over(self, base: OurSettings) -> OurSettings:
        """Return the settings for our drivers: the SDK's, and those of the agent's configuration besides."""
        given, effort = (
            self.settings,
            None if self.settings.reasoning is None else self.settings.reasoning.effort,
        )
        choice = given.tool_choice if isinstance(given.tool_choice, str) else None
        named = any(spec.name == choice for spec in self.specs)
        extra: dict[str, Json] = {
            name: value
            for name in ("frequency_penalty", "presence_penalty")
            if (value := getattr(given, name)) is not None
        }
        body: object = given.extra_body
        if isinstance(body, dict):
            extra |= cast("dict[str, Json]", body)
        said: dict[str, Any] = {
            "temperature": given.temperature,
            "top_p": given.top_p,
            "max_output_tokens": given.max_tokens,
            "parallel_tool_calls": given.parallel_tool_calls,
            "reasoning_effort": effort if effort in _EFFORTS else None,
            "tool_choice": "required"
            if named
            else choice
            if choice in ("auto", "required", "none")
            else None,
        }
        kept = {name: value for name, value in said.items() if value is not None}
        return structs.replace(base, **kept, extra_body={**base.extra_body, **extra})


def _schema(schema: Mapping[str, Any]) -> dict[str, Json]:
    return {"type": "object", "properties": {}, **schema}


class OwnRequest(ModelRequest, frozen=True, kw_only=True):
    """A request to the program's own model: what the Runner asked, with files as the model takes them."""

    call: ModelCall


class OwnModelDriver:
    """A driver that asks an SDK model of the program."""

    wire = WIRE

    def __init__(self, model: Model) -> None:
        self._model = model

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[ModelEvent], None]:
        """Ask the model, and yield its events. See `ModelDriver`."""
        if not isinstance(request, OwnRequest):
            raise ModelError("model_unavailable", "This model answers only runs that the Agents SDK drives.")
        turn = _Turn()
        try:
            async with aclosing(
                cast("AsyncGenerator[TResponseStreamEvent]", self._events(request.call))
            ) as events:
                async for event in events:
                    if batch := turn.take(event):
                        yield batch
            yield turn.end()
        except NotImplementedError:
            yield turn.whole(await self._model.get_response(*_given(request.call), **_NO_CONVERSATION))
        except AgioError:
            raise
        except openai.APIStatusError as error:
            key = getattr(getattr(self._model, "_client", None), "api_key", None)
            faults = Faults(error.request.url.host, [key] if isinstance(key, str) else [])
            raise faults.from_answer(
                error.status_code, error.response.headers, error.response.content
            ) from error
        except openai.APIConnectionError as error:
            raise ModelError("connection_failed", str(error), retryable=True) from error
        except Exception as error:
            words = f"The model {type(self._model).__name__} failed: {type(error).__name__}: {error}."
            raise ModelError("model_unavailable", words, retryable=True) from error

    def _events(self, call: ModelCall) -> AsyncIterator[TResponseStreamEvent]:
        return self._model.stream_response(*_given(call), **_NO_CONVERSATION)

    async def aclose(self) -> None:
        """Close the model's connections."""
        await self._model.close()


_NO_CONVERSATION: Any = {"previous_response_id": None, "conversation_id": None, "prompt": None}


def _given(call: ModelCall) -> Any:
    return (
        *(call.system, call.input, call.settings, call.tools, call.output, call.handoffs),
        ModelTracing.DISABLED,
    )


class _Turn:
    """Converts the events of one answer."""

    def __init__(self) -> None:
        self._calls: dict[int, int] = {}
        """The number of each call, by its place in the answer."""
        self._arguments: set[int] = set()
        self._said = False
        self._end: Any = None
        self._kind = ""

    def take(self, event: TResponseStreamEvent) -> list[ModelEvent]:
        given = cast(Any, event)
        if event.type in _TEXT:
            self._said = True
            return [TextDelta(given.delta)]
        if event.type in _REASONING:
            return [ReasoningDelta(given.delta)]
        if event.type == "response.output_item.added" and given.item.type == "function_call":
            index = self._calls[given.output_index] = len(self._calls)
            return [ToolCallBegin(index, given.item.name)]
        if event.type == "response.function_call_arguments.delta" and given.output_index in self._calls:
            self._arguments.add(given.output_index)
            return [ToolCallDelta(self._calls[given.output_index], given.delta)]
        if event.type == "response.output_item.done" and given.output_index in self._calls:
            return self._done(given.output_index, given.item)
        if event.type in _ENDS:
            self._end, self._kind = given.response, event.type
        if event.type == "error":
            raise ModelError("model_unavailable", f"The model failed: {given.message}.", retryable=True)
        return []

    def _done(self, place: int, item: Any) -> list[ModelEvent]:
        index = self._calls[place]
        whole = [] if place in self._arguments else [ToolCallDelta(index, item.arguments)]
        return [*whole, ToolCallDone(index)]

    def end(self) -> list[ModelEvent]:
        """Return the end of the answer, and what of it was not streamed. Raises ModelError."""
        if self._end is None:
            raise ModelError(
                "stream_broken", "The model's stream ended before its answer did.", retryable=True
            )
        if self._kind == "response.failed":
            error = self._end.error
            words = "The model failed." if error is None else f"The model failed: {error.message}"
            raise ModelError("model_unavailable", words, retryable=True)
        used = self._end.usage
        usage = Usage()
        if used is not None:
            cached, reasoned = used.input_tokens_details, used.output_tokens_details
            usage = Usage(
                used.input_tokens or 0,
                used.output_tokens or 0,
                getattr(cached, "cached_tokens", 0) or 0,
                getattr(reasoned, "reasoning_tokens", 0) or 0,
                getattr(cached, "cache_write_tokens", 0) or 0,
            )
        return self._ended(self._end.output, usage, "length" if self._kind == "response.incomplete" else None)

    def whole(self, response: ModelResponse) -> list[ModelEvent]:
        """Return the events of an answer that was not streamed."""
        used = response.usage
        usage = Usage(
            used.input_tokens,
            used.output_tokens,
            used.input_tokens_details.cached_tokens or 0,
            used.output_tokens_details.reasoning_tokens or 0,
        )
        return self._ended(response.output, usage, None)

    def _ended(self, output: list[Any], usage: Usage, stop: StopReason | None) -> list[ModelEvent]:
        events: list[ModelEvent] = []
        for place, item in enumerate(output):
            if item.type == "message" and not self._said:
                text = "".join(
                    getattr(part, "text", None) or getattr(part, "refusal", "") for part in item.content
                )
                events += [TextDelta(text)] if text else []
            elif item.type == "function_call" and place not in self._calls:
                index = self._calls[place] = len(self._calls)
                events += [ToolCallBegin(index, item.name), *self._done(place, item)]
        items = [cast(Item, item.model_dump(mode="json", exclude_unset=True)) for item in output]
        reason: StopReason = stop or ("tool_calls" if self._calls else "end")
        return [*events, TurnEnd(reason, usage, VendorTurn(WIRE, cast("list[Json]", items)))]
