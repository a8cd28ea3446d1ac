"""Anthropic Messages: the driver and its requests."""

import re
from collections.abc import AsyncGenerator, Sequence
from typing import cast

from agio.core.model import ModelEvent, ModelRequest
from agio.drivers.anthropic_turn import WIRE, AnthropicTurn
from agio.drivers.body import close_objects, encode_body
from agio.drivers.catalogue import ANTHROPIC, fetch_names
from agio.drivers.conversation import (
    LEFT_OUT,
    Result,
    SystemTurn,
    UserTurn,
    VendorIds,
    alternate,
    as_text,
    file_id,
    mime_of,
    turns_of,
)
from agio.drivers.endpoint import Endpoint
from agio.drivers.http import ModelHttp
from agio.protocol.messages import ContentPart, DataSource, DocumentPart, ImagePart, Json, UrlSource

_MAX_TOKENS = 8192
_IMAGE_CHARS = 5 * 1024 * 1024
"""The API's limit for an image in base64. A larger one would fail every later call of its conversation."""
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_CACHE: dict[str, Json] = {"type": "ephemeral"}
_BUDGETS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384}
# Models before 4.6 take a thinking budget in tokens; later ones refuse it and take an effort.
_BUDGETED = re.compile(r"claude-(?:\d|instant|(?:opus|sonnet|haiku)-(?:3|4-[0-5](?!\d)|4-\d{8}|4$))")


class AnthropicDriver:
    """Streams `{base}/v1/messages`."""

    def __init__(self, endpoint: Endpoint) -> None:
        headers = {"anthropic-version": "2023-06-01"}
        if endpoint.api_key:
            headers["x-api-key"] = endpoint.api_key.strip()
        self._http = ModelHttp("https://api.anthropic.com", endpoint, headers)
        self._url = f"{self._http.base_url.removesuffix('/v1')}/v1/messages"

    @property
    def wire(self) -> str:
        """The wire format's name."""
        return WIRE

    def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[ModelEvent]]:
        """Call the model; see `ModelDriver.stream`."""
        body = encode_body(build_body(request), request.settings.extra_body)
        return self._http.turn(self._url, body, AnthropicTurn(self._http.faults))

    async def models(self) -> list[str]:
        """List the service's models; see `ModelLister.models`."""
        return await fetch_names(
            self._http, f"{self._url.removesuffix('/messages')}/models?limit=1000", ANTHROPIC
        )

    async def aclose(self) -> None:
        """Close the driver's connections."""
        await self._http.aclose()


def build_body(request: ModelRequest) -> dict[str, Json]:
    """Build the JSON body."""
    settings = request.settings
    body: dict[str, Json] = {
        "model": request.model,
        "max_tokens": settings.max_output_tokens or _MAX_TOKENS,
        "stream": True,
    }
    if request.system:
        body["system"] = [{"type": "text", "text": request.system, "cache_control": _CACHE}]
    body["messages"] = _messages(request)
    if request.tools:
        body["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in request.tools
        ]
        choice = {"required": "any", None: "auto"}.get(settings.tool_choice, settings.tool_choice)
        if settings.parallel_tool_calls is False and choice != "none":
            body["tool_choice"] = {"type": choice, "disable_parallel_tool_use": True}
        elif settings.tool_choice is not None:
            body["tool_choice"] = {"type": choice}
    options: dict[str, Json] = {}
    if request.output is not None:
        options["format"] = {"type": "json_schema", "schema": close_objects(request.output.schema)}
    _think(request, body, options)
    if options:
        body["output_config"] = options
    # With thinking, the API refuses a temperature and a top_p below 0.95; newer models refuse both together.
    thinks = "thinking" in body
    if settings.temperature is not None and not thinks:
        body["temperature"] = settings.temperature
    elif settings.top_p is not None and (not thinks or settings.top_p >= 0.95):
        body["top_p"] = settings.top_p
    return body


def _think(request: ModelRequest, body: dict[str, Json], options: dict[str, Json]) -> None:
    effort = request.settings.reasoning_effort
    if effort is None:
        return
    budgeted = _BUDGETED.match(request.model) is not None
    if not budgeted:
        options["effort"] = "low" if effort == "minimal" else effort
    if request.tools and request.settings.tool_choice == "required":
        # The API refuses thinking with a required tool call.
        return
    budget = _BUDGETS[effort]
    limit = request.settings.max_output_tokens
    if limit is None:
        body["max_tokens"] = _MAX_TOKENS + budget
    if not budgeted:
        body["thinking"] = {"type": "adaptive", "display": "summarized"}
        return
    if limit is not None:
        budget = min(budget, limit // 2)
    if budget >= 1024 and _may_think(cast(list[dict[str, Json]], body["messages"])):
        body["thinking"] = {"type": "enabled", "budget_tokens": budget}


def _may_think(messages: list[dict[str, Json]]) -> bool:
    """Whether the API accepts thinking: tool calls at the end of the history must begin with thinking."""
    ends = [cast(list[dict[str, Json]], message["content"])[0]["type"] for message in messages[-2:]]
    return len(ends) < 2 or ends[1] != "tool_result" or ends[0] in ("thinking", "redacted_thinking")


def _find_calls(items: list[Json]) -> list[dict[str, Json]]:
    blocks = cast(list[dict[str, Json]], items)
    return [block for block in blocks if block.get("type") == "tool_use"]


_IDS = VendorIds(WIRE, "id", _find_calls)


def _messages(request: ModelRequest) -> list[Json]:
    turns: list[tuple[str, list[Json]]] = []
    for turn in turns_of(request, _IDS):
        if isinstance(turn, SystemTurn):
            # Only the newest models accept instructions inside the history.
            turns.append(("user", [_text(f"[{turn.role}] {turn.text}")]))
        elif isinstance(turn, UserTurn):
            turns.append(("user", [_block(part) for part in turn.parts]))
        else:
            blocks: list[Json] = list(turn.items or ())
            if turn.items is None:
                if turn.text.strip():
                    blocks.append(_text(turn.text))
                blocks += [
                    {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}
                    for call in turn.calls
                ]
            turns.append(("assistant", blocks))
            turns.append(("user", [_tool_result(result) for result in turn.results]))
    joined = alternate(turns, "user", cast(Json, _text(LEFT_OUT)))
    if joined and joined[-1][0] == "user":
        blocks = joined[-1][1]
        blocks[-1] = {**cast(dict[str, Json], blocks[-1]), "cache_control": _CACHE}
    return [{"role": role, "content": blocks} for role, blocks in joined]


def _tool_result(result: Result) -> Json:
    block: dict[str, Json] = {"type": "tool_result", "tool_use_id": result.id}
    if result.parts:
        block["content"] = [_block(part) for part in result.parts]
    if result.failed:
        block["is_error"] = True
    return block


def _text(text: str) -> dict[str, Json]:
    return {"type": "text", "text": text if text.strip() else "(blank)"}


def _block(part: ContentPart) -> dict[str, Json]:
    if isinstance(part, ImagePart | DocumentPart):
        kind = "image" if isinstance(part, ImagePart) else "document"
        source = part.source
        mime = mime_of(part)
        handle = file_id(part, "anthropic")
        if handle is not None:
            return {"type": kind, "source": {"type": "file", "file_id": handle}}
        if isinstance(source, UrlSource) and (kind == "image" or mime in ("", "application/pdf")):
            return {"type": kind, "source": {"type": "url", "url": source.value}}
        fits = isinstance(source, DataSource) and (kind == "document" or len(source.value) <= _IMAGE_CHARS)
        if fits and (mime in _IMAGES if kind == "image" else "pdf" in mime):
            data = {"type": "base64", "media_type": mime, "data": source.value}
            return {"type": kind, "source": data}
    return _text(as_text(part))
