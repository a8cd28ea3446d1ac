"""OpenAI Chat Completions and compatible services: the driver and its requests."""

from collections.abc import AsyncGenerator, Sequence
from typing import cast

import msgspec

from agio.core.model import Embedded, ModelEvent, ModelRequest
from agio.drivers.body import encode_body, is_strict
from agio.drivers.catalogue import OPENAI, fetch_names
from agio.drivers.conversation import (
    Result,
    SystemTurn,
    UserTurn,
    VendorIds,
    as_text,
    data_url,
    file_id,
    mime_of,
    text_of_parts,
    turns_of,
)
from agio.drivers.embeddings import embed_openai
from agio.drivers.endpoint import Endpoint
from agio.drivers.http import ModelHttp
from agio.drivers.openai_chat_turn import WIRE, ChatTurn, tool_call
from agio.protocol.messages import (
    AudioPart,
    ContentPart,
    DataSource,
    DocumentPart,
    ImagePart,
    Json,
    TextPart,
    UrlSource,
)

_AUDIO = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


class OpenAIChatDriver:
    """Streams `{base}/chat/completions`."""

    def __init__(self, endpoint: Endpoint) -> None:
        key = (endpoint.api_key or "").strip()
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = ModelHttp("https://api.openai.com/v1", endpoint, headers)
        self._compatible = endpoint.base_url is not None and ".openai.com" not in endpoint.base_url

    @property
    def wire(self) -> str:
        """The wire format's name."""
        return WIRE

    def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[ModelEvent]]:
        """Call the model; see `ModelDriver.stream`."""
        body = encode_body(build_body(request, compatible=self._compatible), request.settings.extra_body)
        return self._http.turn(f"{self._http.base_url}/chat/completions", body, ChatTurn(self._http.faults))

    async def models(self) -> list[str]:
        """List the service's models; see `ModelLister.models`."""
        return await fetch_names(self._http, f"{self._http.base_url}/models", OPENAI)

    async def embed(self, model: str, texts: Sequence[str], size: int | None) -> Embedded:
        """Make vectors of texts; see `Embedder.embed`."""
        return await embed_openai(self._http, model, texts, size)

    async def aclose(self) -> None:
        """Close the driver's connections."""
        await self._http.aclose()


def build_body(request: ModelRequest, *, compatible: bool = False) -> dict[str, Json]:
    """Build the JSON body. With `compatible` it uses only fields that compatible services support."""
    settings = request.settings
    body: dict[str, Json] = {
        "model": request.model,
        "messages": _messages(request, "system" if compatible else "developer"),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            }
            for tool in request.tools
        ]
        if settings.tool_choice is not None:
            body["tool_choice"] = settings.tool_choice
        if settings.parallel_tool_calls is not None:
            body["parallel_tool_calls"] = settings.parallel_tool_calls
    if request.output is not None:
        schema = request.output.schema
        form = {"name": request.output.name, "schema": schema, "strict": is_strict(schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    # OpenAI's reasoning models refuse `max_tokens`; many compatible services support nothing else.
    limit = "max_tokens" if compatible else "max_completion_tokens"
    options = {
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        limit: settings.max_output_tokens,
        "reasoning_effort": settings.reasoning_effort,
    }
    body.update({name: value for name, value in options.items() if value is not None})
    return body


def _find_calls(items: list[Json]) -> list[dict[str, Json]]:
    messages = cast(list[dict[str, Json]], items)
    return [
        call for message in messages for call in cast(list[dict[str, Json]], message.get("tool_calls") or [])
    ]


_IDS = VendorIds(WIRE, "id", _find_calls)


def _messages(request: ModelRequest, developer: str) -> list[Json]:
    messages: list[Json] = []
    if request.system:
        messages.append({"role": "system", "content": request.system})
    for turn in turns_of(request, _IDS):
        if isinstance(turn, SystemTurn):
            role = developer if turn.role == "developer" else "system"
            messages.append({"role": role, "content": turn.text})
        elif isinstance(turn, UserTurn):
            messages.append({"role": "user", "content": _content(turn.parts)})
        else:
            if turn.items is not None:
                messages.extend(turn.items)
            else:
                message: dict[str, Json] = {"role": "assistant", "content": turn.text or None}
                if turn.calls:
                    message["tool_calls"] = [
                        tool_call(call.id, call.name, msgspec.json.encode(call.arguments).decode())
                        for call in turn.calls
                    ]
                messages.append(message)
            messages.extend(_results(turn.results))
    return messages


def _results(results: list[Result]) -> list[Json]:
    messages: list[Json] = []
    shown: list[ContentPart] = []
    for result in results:
        text = text_of_parts(result.parts)
        media = [part for part in result.parts if not isinstance(part, TextPart)]
        if media:
            # A tool message takes text only; other parts follow in a user message.
            shown += [TextPart(text=f"Attached to the result of {result.name}:"), *media]
            text = text or "The result is attached below."
        messages.append({"role": "tool", "tool_call_id": result.id, "content": text})
    if shown:
        messages.append({"role": "user", "content": _content(shown)})
    return messages


def _content(parts: list[ContentPart]) -> Json:
    if all(isinstance(part, TextPart) for part in parts):
        return text_of_parts(parts)
    return [_part(part) for part in parts]


def _part(part: ContentPart) -> dict[str, Json]:
    if not isinstance(part, TextPart):
        source = part.source
        handle = file_id(part, "openai")
        if isinstance(part, ImagePart) and isinstance(source, DataSource | UrlSource):
            url = data_url(source) if isinstance(source, DataSource) else source.value
            return {"type": "image_url", "image_url": {"url": url}}
        if isinstance(part, AudioPart) and isinstance(source, DataSource) and source.mime_type in _AUDIO:
            audio = {"data": source.value, "format": _AUDIO[source.mime_type]}
            return {"type": "input_audio", "input_audio": audio}
        if isinstance(part, DocumentPart) and handle is not None:
            return {"type": "file", "file": {"file_id": handle}}
        if isinstance(part, DocumentPart) and isinstance(source, DataSource) and "pdf" in mime_of(part):
            return {"type": "file", "file": {"filename": "document.pdf", "file_data": data_url(source)}}
    return {"type": "text", "text": as_text(part)}
