"""Messages of a conversation and the input of a run, in AG-UI 1.0.

Optional fields are absent, never null. Decoding a null there is an error.
"""

from typing import TYPE_CHECKING, Literal, TypeAlias, cast

import msgspec
from msgspec import UNSET, Struct, UnsetType

Json: TypeAlias = object
"""Any JSON value. agio passes on values that it does not interpret."""

if TYPE_CHECKING:
    JsonPresent: TypeAlias = object
else:
    JsonPresent: TypeAlias = bool | int | float | str | list[object] | dict[str, object] | UnsetType
"""Any JSON value but null, for an optional field. A type checker sees an object, as for `Json`."""

Metadata: TypeAlias = dict[str, Json]


class _Wire(Struct, rename="camel"):
    pass


class DataSource(_Wire, tag_field="type", tag="data"):
    """Bytes carried inline, base64."""

    value: str
    mime_type: str


class UrlSource(_Wire, tag_field="type", tag="url"):
    """Bytes behind a URL."""

    value: str
    mime_type: str | UnsetType = UNSET


class FileSource(_Wire, tag_field="type", tag="file"):
    """Bytes already at a provider, under the handle it gave."""

    value: str
    provider: str | UnsetType = UNSET
    mime_type: str | UnsetType = UNSET


PartSource: TypeAlias = DataSource | UrlSource | FileSource


class _Part(_Wire, kw_only=True, tag_field="type"):
    id: str | UnsetType = UNSET
    metadata: JsonPresent = UNSET


class TextPart(_Part, tag="text"):
    text: str


class ImagePart(_Part, tag="image"):
    source: PartSource


class AudioPart(_Part, tag="audio"):
    source: PartSource


class VideoPart(_Part, tag="video"):
    source: PartSource


class DocumentPart(_Part, tag="document"):
    source: PartSource


ContentPart: TypeAlias = TextPart | ImagePart | AudioPart | VideoPart | DocumentPart
Content: TypeAlias = str | list[ContentPart]


class FunctionCall(_Wire):
    name: str
    arguments: str


class ToolCall(_Wire):
    """A tool call of an assistant message; `function.arguments` is JSON text."""

    id: str
    function: FunctionCall
    type: Literal["function"] = "function"
    encrypted_value: str | UnsetType = UNSET
    metadata: Metadata | UnsetType = UNSET


class _Message(_Wire, kw_only=True, tag_field="role"):
    id: str
    subagent_run_id: str | UnsetType = UNSET
    encrypted_value: str | UnsetType = UNSET
    metadata: Metadata | UnsetType = UNSET

    @property
    def role(self) -> str:
        """Who speaks, such as `user`."""
        return str(self.__struct_config__.tag)


class DeveloperMessage(_Message, tag="developer"):
    content: str
    name: str | UnsetType = UNSET


class SystemMessage(_Message, tag="system"):
    content: str
    name: str | UnsetType = UNSET


class AssistantMessage(_Message, tag="assistant"):
    content: str | UnsetType = UNSET
    tool_calls: list[ToolCall] | UnsetType = UNSET
    name: str | UnsetType = UNSET


class UserMessage(_Message, tag="user"):
    content: Content
    name: str | UnsetType = UNSET


class ToolMessage(_Message, tag="tool"):
    content: Content
    tool_call_id: str
    error: str | UnsetType = UNSET


class ReasoningMessage(_Message, tag="reasoning"):
    content: str


class ActivityMessage(_Wire, tag_field="role", tag="activity"):
    id: str
    activity_type: str
    content: dict[str, Json]
    subagent_run_id: str | UnsetType = UNSET
    metadata: Metadata | UnsetType = UNSET

    @property
    def role(self) -> str:
        """Who speaks, such as `user`."""
        return str(self.__struct_config__.tag)


Message: TypeAlias = (
    DeveloperMessage
    | SystemMessage
    | AssistantMessage
    | UserMessage
    | ToolMessage
    | ReasoningMessage
    | ActivityMessage
)


class ToolDeclaration(_Wire):
    """A tool a client offers: AG-UI's `Tool`."""

    name: str
    description: str
    parameters: JsonPresent = UNSET
    metadata: Metadata | UnsetType = UNSET


class ContextEntry(_Wire):
    """Context from the client's page: AG-UI's `Context`."""

    description: str
    value: str


class ResumeEntry(_Wire):
    """The answer to one interrupt."""

    interrupt_id: str
    status: Literal["resolved", "cancelled"]
    payload: JsonPresent = UNSET
    metadata: Metadata | UnsetType = UNSET


class RunAgentInput(_Wire):
    """The input of a run."""

    thread_id: str
    run_id: str
    messages: list[Message]
    protocol_version: str | UnsetType = UNSET
    parent_run_id: str | UnsetType = UNSET
    state: Json = UNSET
    tools: list[ToolDeclaration] | UnsetType = UNSET
    context: list[ContextEntry] | UnsetType = UNSET
    forwarded_props: JsonPresent = UNSET
    resume: list[ResumeEntry] | UnsetType = UNSET


def text_of(content: Content) -> str:
    """Return the text parts of a message's content."""
    if isinstance(content, str):
        return content
    return "\n".join(part.text for part in content if isinstance(part, TextPart))


def decoded_object(text: str) -> dict[str, Json]:
    """Decode a JSON object; an empty object if the text is not one."""
    try:
        return json_object(msgspec.json.decode(text))
    except (msgspec.DecodeError, RecursionError):
        return {}


def json_object(value: Json) -> dict[str, Json]:
    """Return the value if it is a JSON object, else an empty object."""
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}
