"""Converts between our messages and the SDK's items, the wire format of OpenAI's Responses."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

import msgspec
from agents.items import ModelResponse, TResponseInputItem
from agents.usage import Usage as SdkUsage
from msgspec import UNSET, structs
from openai.types.responses import ResponseOutputItem
from openai.types.responses.response_usage import InputTokensDetails, OutputTokensDetails
from pydantic import TypeAdapter

from agio.core.model import VendorTurn
from agio.core.store.repository import TurnRecord
from agio.protocol.ids import id_body
from agio.protocol.messages import (
    AssistantMessage,
    AudioPart,
    Content,
    ContentPart,
    DataSource,
    DocumentPart,
    FileSource,
    FunctionCall,
    ImagePart,
    Json,
    Message,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    UrlSource,
    UserMessage,
)

WIRE = "openai-agents"
"""The wire of turns by the program's own SDK models: their items go back as the model gave them."""
Item: TypeAlias = dict[str, Any]

_OUTPUT: TypeAdapter[list[ResponseOutputItem]] = TypeAdapter(list[ResponseOutputItem])


def bytes_of(item: object) -> bytes:
    """Return an item's bytes, the same for equal items."""
    return msgspec.json.encode(item, order="deterministic", enc_hook=_plain)


def _plain(value: object) -> object:
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) else repr(value)


class Ledger:
    """The items of a lane's conversation, and the messages that they stand for.

    `model` is the id of the model that is asked: the items that another one's turns were recorded with are not used.
    """

    def __init__(self, messages: Sequence[Message], vendor: Mapping[str, VendorTurn], model: str) -> None:
        self._vendor = vendor
        self._model = model
        self._of: dict[bytes, Message] = {}
        self._calls: dict[str, str] = {}
        """Our ids of the calls, by the SDK's."""
        self._names: dict[str, str] = {}
        """The SDK's ids of the calls, by ours."""
        self.items: list[Item] = []
        for message in messages:
            self.items += self.add(message)

    def add(self, message: Message) -> list[Item]:
        """Return a message's items, and remember them."""
        items = self._items(message)
        for item in items:
            if not isinstance(message, AssistantMessage):
                self._of[bytes_of(item)] = message
        return items

    def call_id(self, sdk_id: str) -> str:
        """Return our id of a call."""
        return self._calls.get(sdk_id, sdk_id)

    def message(self, item: object) -> Message | None:
        """Return the message of the user or of a tool that an item stands for."""
        return self._of.get(bytes_of(item))

    def _items(self, message: Message) -> list[Item]:
        match message:
            case UserMessage(content=content):
                return [{"role": "user", "content": content_items(content)}]
            case AssistantMessage():
                return self.turn_items(message, self._vendor.get(message.id))
            case ToolMessage():
                call_id = self._names.get(message.tool_call_id, message.tool_call_id)
                output = content_items(message.content)
                return [{"type": "function_call_output", "call_id": call_id, "output": output}]
            case SystemMessage(content=content):
                return [{"role": "system", "content": content}]
            case _:
                return []

    def turn_items(self, message: AssistantMessage | None, vendor: VendorTurn | None) -> list[Item]:
        """Return the items of a turn, as its model gave them or made from its message."""
        calls = [] if message is None or message.tool_calls is UNSET else message.tool_calls
        if vendor is not None and vendor.wire == WIRE and vendor.model in ("", self._model):
            items = [cast(Item, item) for item in vendor.items]
            asked = [item for item in items if item.get("type") == "function_call"]
            for call, item in zip(calls, asked, strict=False):
                self._calls[item["call_id"]] = call.id
                self._names[call.id] = item["call_id"]
            return items
        text = "" if message is None or message.content is UNSET else message.content
        items: list[Item] = []
        if text or not calls:
            part: Item = {"type": "output_text", "text": text, "annotations": []}
            items.append(
                {
                    "type": "message",
                    "id": "msg_empty" if message is None else message.id,
                    "role": "assistant",
                    "status": "completed",
                    "content": [part],
                }
            )
        for call in calls:
            function = call.function
            items.append(
                {
                    "type": "function_call",
                    "call_id": call.id,
                    "name": function.name,
                    "arguments": function.arguments,
                    "status": "completed",
                }
            )
        return items

    def messages(self, items: Sequence[TResponseInputItem], known: Sequence[Message]) -> list[Message]:
        """Return the messages that items stand for. Those of `known` are found again, also among new ones."""
        turns = {message.id: message for message in known if isinstance(message, AssistantMessage)}
        found: list[Message] = []
        for item in items:
            entry = cast(Item, item)
            message = self._of.get(bytes_of(entry))
            if message is not None:
                found.append(message)
            elif entry.get("type") == "function_call":
                self._add_call(found, entry)
            elif entry.get("type") == "function_call_output":
                content = content_of(entry.get("output"))
                call_id = self.call_id(str(entry["call_id"]))
                found.append(ToolMessage(id=f"res_{id_body(call_id)}", content=content, tool_call_id=call_id))
            elif entry.get("role") == "assistant":
                own = str(entry.get("id") or f"msg_item_{len(found)}")
                found.append(AssistantMessage(id=own, content=_text(entry.get("content"))))
            elif entry.get("role") == "user":
                found.append(
                    UserMessage(id=f"msg_item_{len(found)}", content=content_of(entry.get("content")))
                )
            elif entry.get("role") in ("system", "developer"):
                text = _text(entry.get("content"))
                found.append(SystemMessage(id=f"msg_item_{len(found)}", content=text))
        return [_own(message, turns) for message in found]

    def _add_call(self, found: list[Message], item: Item) -> None:
        call_id = self.call_id(str(item["call_id"]))
        call = ToolCall(call_id, FunctionCall(str(item["name"]), str(item["arguments"])))
        own = f"msg_{id_body(call_id).rpartition('_')[0]}"
        last = found[-1] if found else None
        if isinstance(last, AssistantMessage) and (last.id == own or last.tool_calls is not UNSET):
            last.tool_calls = [*([] if last.tool_calls is UNSET else last.tool_calls), call]
        else:
            found.append(AssistantMessage(id=own, tool_calls=[call]))


def _own(message: Message, turns: Mapping[str, AssistantMessage]) -> Message:
    """Return the recorded message of a turn; a changed one gets another id, so that its vendor items are not sent."""
    if not isinstance(message, AssistantMessage):
        return message
    known = turns.get(message.id)
    if known is None:
        return message
    same = (known.content or "") == (message.content or "") and _called(known) == _called(message)
    return known if same else structs.replace(message, id=f"{message.id}_part")


def _called(message: AssistantMessage) -> list[tuple[str, str, str]]:
    calls = [] if message.tool_calls is UNSET else message.tool_calls
    return [(call.id, call.function.name, call.function.arguments) for call in calls]


def response_of(items: Sequence[Item], record: TurnRecord) -> ModelResponse:
    """Return a recorded turn as the SDK's model would have answered."""
    usage = record.usage
    return ModelResponse(
        output=_OUTPUT.validate_python(list(items)),
        usage=SdkUsage(
            requests=1,
            input_tokens=usage.input,
            input_tokens_details=InputTokensDetails(
                cached_tokens=usage.cached, cache_write_tokens=usage.cache_write
            ),
            output_tokens=usage.output,
            output_tokens_details=OutputTokensDetails(reasoning_tokens=usage.reasoning),
            total_tokens=usage.total,
        ),
        response_id=None,
    )


def content_items(content: Content) -> str | list[Item]:
    """Return a message's content as the SDK has it."""
    return content if isinstance(content, str) else [_part_item(part) for part in content]


def _part_item(part: ContentPart) -> Item:
    if isinstance(part, TextPart):
        return {"type": "input_text", "text": part.text}
    kind = part.source.mime_type or ""
    match part.source:
        case FileSource(value=value):
            key, place = "file_id", value
        case UrlSource(value=value):
            key, place = "url", value
        case DataSource(value=value):
            key, place = "data", f"data:{kind};base64,{value}"
    if isinstance(part, ImagePart):
        named = "file_id" if key == "file_id" else "image_url"
        return {"type": "input_image", "detail": "auto", named: place}
    if isinstance(part, DocumentPart):
        named = {"file_id": "file_id", "url": "file_url", "data": "file_data"}[key]
        return {"type": "input_file", named: place}
    if isinstance(part, AudioPart) and key == "data":
        data = {"data": cast(DataSource, part.source).value, "format": kind.rpartition("/")[2]}
        return {"type": "input_audio", "input_audio": data}
    return {"type": "input_text", "text": f"[a part of type {kind or 'unknown'}: left out]"}


def content_of(value: object) -> Content:
    """Return an item's content as ours."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    return list(_parts(cast("list[Item]", value)))


def _parts(items: Sequence[Item]) -> Iterator[ContentPart]:
    for item in items:
        place = item.get("image_url") or item.get("file_url") or item.get("file_data")
        kind = ImagePart if item.get("type") == "input_image" else DocumentPart
        if isinstance(text := item.get("text"), str):
            yield TextPart(text=text)
        elif isinstance(place, str):
            yield kind(source=_source(place))
        elif isinstance(file_id := item.get("file_id"), str):
            yield kind(source=FileSource(file_id))


def _source(place: str) -> DataSource | UrlSource:
    if not place.startswith("data:"):
        return UrlSource(place)
    head, _, data = place[5:].partition(",")
    return DataSource(data, head.partition(";")[0])


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = cast("list[Item]", content)
    return "".join(str(part.get("text") or part.get("refusal") or "") for part in parts)


def json_of(value: object) -> Json:
    """Return a value of the SDK as plain JSON."""
    return cast(Json, msgspec.json.decode(bytes_of(value)))
