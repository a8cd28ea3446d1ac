"""OpenAI Responses: the driver and its requests. OpenAI stores nothing; each request carries the history."""

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
    text_of_parts,
    turns_of,
)
from agio.drivers.embeddings import embed_openai
from agio.drivers.endpoint import Endpoint
from agio.drivers.http import ModelHttp
from agio.drivers.openai_responses_turn import WIRE, ResponsesTurn
from agio.protocol.messages import ContentPart, DataSource, DocumentPart, ImagePart, Json, TextPart, UrlSource


class OpenAIModelDriver:
    """Streams `{base}/responses`."""

    def __init__(self, endpoint: Endpoint) -> None:
        key = (endpoint.api_key or "").strip()
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = ModelHttp("https://api.openai.com/v1", endpoint, headers)

    @property
    def wire(self) -> str:
        """The wire format's name."""
        return WIRE

    def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[ModelEvent]]:
        """Call the model; see `ModelDriver.stream`."""
        body = encode_body(build_body(request), request.settings.extra_body)
        return self._http.turn(f"{self._http.base_url}/responses", body, ResponsesTurn(self._http.faults))

    async def models(self) -> list[str]:
        """List the service's models; see `ModelLister.models`."""
        return await fetch_names(self._http, f"{self._http.base_url}/models", OPENAI)

    async def embed(self, model: str, texts: Sequence[str], size: int | None) -> Embedded:
        """Make vectors of texts; see `Embedder.embed`."""
        return await embed_openai(self._http, model, texts, size)

    async def aclose(self) -> None:
        """Close the driver's connections."""
        await self._http.aclose()


def build_body(request: ModelRequest) -> dict[str, Json]:
    """Build the JSON body."""
    settings = request.settings
    body: dict[str, Json] = {
        "model": request.model,
        "input": _input(request),
        "stream": True,
        "store": False,
    }
    if request.system:
        body["instructions"] = request.system
    # Models without reasoning refuse these options.
    if not request.model.startswith(("gpt-4", "gpt-3", "chatgpt-4")):
        body["include"] = ["reasoning.encrypted_content"]
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                # The default is strict, which would refuse most schemas.
                "strict": False,
            }
            for tool in request.tools
        ]
        if settings.tool_choice is not None:
            body["tool_choice"] = settings.tool_choice
        if settings.parallel_tool_calls is not None:
            body["parallel_tool_calls"] = settings.parallel_tool_calls
    if request.output is not None:
        schema = request.output.schema
        form = {"type": "json_schema", "name": request.output.name, "schema": schema}
        body["text"] = {"format": {**form, "strict": is_strict(schema)}}
    if settings.reasoning_effort is not None:
        body["reasoning"] = {"effort": settings.reasoning_effort, "summary": "auto"}
    options = {
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "max_output_tokens": settings.max_output_tokens,
    }
    body.update({name: value for name, value in options.items() if value is not None})
    return body


def _find_calls(items: list[Json]) -> list[dict[str, Json]]:
    return [item for item in cast(list[dict[str, Json]], items) if item.get("type") == "function_call"]


_IDS = VendorIds(WIRE, "call_id", _find_calls)


def _input(request: ModelRequest) -> list[Json]:
    items: list[Json] = []
    for turn in turns_of(request, _IDS):
        if isinstance(turn, SystemTurn):
            items.append({"role": turn.role, "content": turn.text})
        elif isinstance(turn, UserTurn):
            items.append({"role": "user", "content": _content(turn.parts)})
        else:
            items.extend(turn.items or ())
            if turn.items is None:
                if turn.text:
                    items.append({"role": "assistant", "content": turn.text})
                items += [
                    {
                        "type": "function_call",
                        "call_id": call.id,
                        "name": call.name,
                        "arguments": msgspec.json.encode(call.arguments).decode(),
                    }
                    for call in turn.calls
                ]
            items += [_output(result) for result in turn.results]
    return items


def _output(result: Result) -> Json:
    return {"type": "function_call_output", "call_id": result.id, "output": _content(result.parts)}


def _content(parts: list[ContentPart]) -> Json:
    if all(isinstance(part, TextPart) for part in parts):
        return text_of_parts(parts)
    return [_part(part) for part in parts]


def _part(part: ContentPart) -> dict[str, Json]:
    if isinstance(part, ImagePart | DocumentPart):
        source = part.source
        handle = file_id(part, "openai")
        image = isinstance(part, ImagePart)
        kind = "input_image" if image else "input_file"
        if handle is not None:
            return {"type": kind, "file_id": handle}
        if isinstance(source, UrlSource):
            return {"type": kind, "image_url" if image else "file_url": source.value}
        if isinstance(source, DataSource) and image:
            return {"type": kind, "image_url": data_url(source)}
        if isinstance(source, DataSource) and "pdf" in source.mime_type:
            return {"type": kind, "filename": "document.pdf", "file_data": data_url(source)}
    return {"type": "input_text", "text": as_text(part)}
