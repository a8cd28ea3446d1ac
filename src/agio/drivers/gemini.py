"""Gemini generateContent: the driver and its requests."""

import re
from collections.abc import AsyncGenerator, Sequence
from typing import cast
from urllib.parse import quote

import msgspec
from msgspec import UNSET

from agio.core.model import Embedded, ModelEvent, ModelRequest
from agio.drivers.body import encode_body
from agio.drivers.catalogue import GEMINI, fetch_names
from agio.drivers.conversation import (
    LEFT_OUT,
    AssistantTurn,
    Result,
    SystemTurn,
    UserTurn,
    VendorIds,
    alternate,
    as_text,
    file_id,
    mime_of,
    text_of_parts,
    turns_of,
)
from agio.drivers.embeddings import embed_gemini
from agio.drivers.endpoint import Endpoint
from agio.drivers.gemini_turn import WIRE, GeminiTurn
from agio.drivers.http import ModelHttp
from agio.protocol.messages import ContentPart, DataSource, Json, TextPart, UrlSource

_MODES = {"auto": "AUTO", "required": "ANY", "none": "NONE"}
_BUDGETS = {"minimal": 512, "low": 1024, "medium": 8192, "high": 24576}
# Before Gemini 3: thinking by budget, no media in function responses, no JSON mode beside functions.
_OLD = re.compile(r"(?:models/)?gemini-[12]\b")
# Google documents this placeholder for calls by other models, which have no thought signature.
_NO_SIGNATURE = "skip_thought_signature_validator"


class GeminiDriver:
    """Streams `{base}/v1beta/models/{model}:streamGenerateContent`."""

    def __init__(self, endpoint: Endpoint) -> None:
        headers = {"x-goog-api-key": endpoint.api_key.strip()} if endpoint.api_key else {}
        self._http = ModelHttp("https://generativelanguage.googleapis.com", endpoint, headers)
        base = self._http.base_url
        self._base = base if base.endswith(("/v1beta", "/v1", "/v1alpha")) else f"{base}/v1beta"

    @property
    def wire(self) -> str:
        """The wire format's name."""
        return WIRE

    def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[ModelEvent]]:
        """Call the model; see `ModelDriver.stream`."""
        body = encode_body(build_body(request), request.settings.extra_body)
        model = quote(request.model.removeprefix("models/"), safe="")
        url = f"{self._base}/models/{model}:streamGenerateContent?alt=sse"
        return self._http.turn(url, body, GeminiTurn(self._http.faults))

    async def models(self) -> list[str]:
        """List the service's models; see `ModelLister.models`."""
        return await fetch_names(self._http, f"{self._base}/models?pageSize=1000", GEMINI)

    async def embed(self, model: str, texts: Sequence[str], size: int | None) -> Embedded:
        """Make vectors of texts; see `Embedder.embed`."""
        return await embed_gemini(self._http, self._base, model, texts, size)

    async def aclose(self) -> None:
        """Close the driver's connections."""
        await self._http.aclose()


def build_body(request: ModelRequest) -> dict[str, Json]:
    """Build the JSON body."""
    settings = request.settings
    old = _OLD.match(request.model) is not None
    body: dict[str, Json] = {"contents": _contents(request, old)}
    system = request.system
    config: dict[str, Json] = {}
    if request.output is not None:
        if old and request.tools:
            schema = msgspec.json.encode(request.output.schema).decode()
            system = f"{system}\n\nGive your final answer as JSON only, fitting this schema: {schema}".strip()
        else:
            config["responseMimeType"] = "application/json"
            config["responseJsonSchema"] = request.output.schema
    if system:
        body["systemInstruction"] = {"parts": [{"text": system}]}
    if request.tools:
        body["tools"] = [
            {
                "functionDeclarations": [
                    {
                        "name": tool.name,
                        "description": tool.description,
                        "parametersJsonSchema": tool.parameters,
                    }
                    for tool in request.tools
                ]
            }
        ]
        if settings.tool_choice is not None:
            mode = _MODES[settings.tool_choice]
            body["toolConfig"] = {"functionCallingConfig": {"mode": mode}}
    effort = settings.reasoning_effort
    if effort is not None:
        amount = {"thinkingBudget": _BUDGETS[effort]} if old else {"thinkingLevel": effort.upper()}
        config["thinkingConfig"] = {"includeThoughts": True, **amount}
    options = {
        "temperature": settings.temperature,
        "topP": settings.top_p,
        "maxOutputTokens": settings.max_output_tokens,
    }
    config.update({name: value for name, value in options.items() if value is not None})
    if config:
        body["generationConfig"] = config
    return body


def _find_calls(items: list[Json]) -> list[dict[str, Json]]:
    parts = cast(list[dict[str, Json]], items)
    return [cast(dict[str, Json], part["functionCall"]) for part in parts if part.get("functionCall")]


_IDS = VendorIds(WIRE, "id", _find_calls)


def _contents(request: ModelRequest, old: bool) -> list[Json]:
    turns: list[tuple[str, list[Json]]] = []
    for turn in turns_of(request, _IDS):
        if isinstance(turn, SystemTurn):
            turns.append(("user", [{"text": f"[{turn.role}] {turn.text}"}]))
        elif isinstance(turn, UserTurn):
            turns.append(("user", [_part(part) for part in turn.parts]))
        else:
            turns.append(("model", turn.items if turn.items is not None else _rebuilt(turn, old)))
            turns.append(("user", _responses(turn.results, old)))
    joined = alternate(turns, "user", cast(Json, {"text": LEFT_OUT}))
    return [{"role": role, "parts": parts} for role, parts in joined]


def _rebuilt(turn: AssistantTurn, old: bool) -> list[Json]:
    parts: list[Json] = [{"text": turn.text}] if turn.text else []
    for number, call in enumerate(turn.calls):
        part: dict[str, Json] = {"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}}
        if number == 0 and not old:
            part["thoughtSignature"] = _NO_SIGNATURE
        parts.append(part)
    return parts


def _responses(results: list[Result], old: bool) -> list[Json]:
    responses: list[Json] = []
    beside: list[Json] = []
    for result in results:
        text = text_of_parts(result.parts)
        media = [_part(part) for part in result.parts if not isinstance(part, TextPart)]
        inside = [] if old else [part for part in media if "inlineData" in part]
        response: dict[str, Json] = {
            "id": result.id,
            "name": result.name,
            "response": {"error" if result.failed else "output": text},
        }
        if inside:
            response["parts"] = inside
        responses.append({"functionResponse": response})
        beside += [part for part in media if part not in inside]
    return responses + beside


def _part(part: ContentPart) -> dict[str, Json]:
    if not isinstance(part, TextPart):
        source = part.source
        if isinstance(source, DataSource):
            return {"inlineData": {"mimeType": source.mime_type, "data": source.value}}
        handle = source.value if isinstance(source, UrlSource) else file_id(part, "gemini")
        if handle is not None:
            file: dict[str, Json] = {"fileUri": handle}
            if source.mime_type is not UNSET:
                file["mimeType"] = mime_of(part)
            return {"fileData": file}
    return {"text": as_text(part)}
