"""Requests to Gemini generateContent: their schema; fields unknown to the vendor are refused."""

from typing import Literal

from msgspec import Struct, field

from agio.protocol.messages import Json


class _Strict(Struct, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    pass


class FunctionCall(_Strict):
    """A tool call of an earlier turn."""

    name: str
    args: dict[str, Json] = field(default_factory=dict[str, Json])
    id: str | None = None


class FunctionResponse(_Strict):
    """The result of a tool call."""

    name: str
    response: dict[str, Json]
    id: str | None = None
    parts: list[Json] | None = None


class Part(_Strict):
    """One part of a message: exactly one of its kinds."""

    text: str | None = None
    inline_data: dict[str, str] | None = None
    file_data: dict[str, str] | None = None
    function_call: FunctionCall | None = None
    function_response: FunctionResponse | None = None
    thought: bool = False
    thought_signature: str | None = None

    def kinds(self) -> int:
        """Count the kinds that the part has."""
        held = (self.text, self.inline_data, self.file_data, self.function_call, self.function_response)
        return sum(one is not None for one in held)


class Content(_Strict):
    """One message."""

    parts: list[Part]
    role: Literal["user", "model"] | None = None

    def calls(self) -> list[FunctionCall]:
        """Return the tool calls of the message."""
        return [part.function_call for part in self.parts if part.function_call is not None]

    def responses(self) -> list[FunctionResponse]:
        """Return the tool results of the message."""
        return [part.function_response for part in self.parts if part.function_response is not None]

    def text(self) -> str:
        """Return the text without thoughts."""
        return "\n".join(part.text for part in self.parts if part.text and not part.thought)


class FunctionDeclaration(_Strict):
    """A tool on offer."""

    name: str
    description: str
    parameters: dict[str, Json] | None = None
    parameters_json_schema: dict[str, Json] | None = None
    behavior: str | None = None
    response: Json = None
    response_json_schema: Json = None


class ToolSet(_Strict):
    """Tools on offer."""

    function_declarations: list[FunctionDeclaration] = []
    google_search: Json = None
    code_execution: Json = None
    url_context: Json = None


class ThinkingConfig(_Strict):
    """The options of thinking."""

    include_thoughts: bool | None = None
    thinking_budget: int | None = None
    thinking_level: Literal["minimal", "low", "medium", "high", "MINIMAL", "LOW", "MEDIUM", "HIGH"] | None = (
        None
    )


class GenerationConfig(_Strict):
    """The options of generation."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    max_output_tokens: int | None = None
    candidate_count: int | None = None
    stop_sequences: list[str] | None = None
    response_mime_type: Literal["text/plain", "application/json", "text/x.enum"] | None = None
    response_schema: dict[str, Json] | None = None
    response_json_schema: dict[str, Json] | None = None
    thinking_config: ThinkingConfig | None = None
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    response_modalities: list[str] | None = None
    media_resolution: str | None = None


class FunctionCallingConfig(_Strict):
    """Whether the model must call a tool."""

    mode: Literal["AUTO", "ANY", "NONE", "VALIDATED"]
    allowed_function_names: list[str] | None = None


class ToolConfig(_Strict):
    """The options of tool calling."""

    function_calling_config: FunctionCallingConfig | None = None


class GenerateRequest(_Strict):
    """The body of a request."""

    contents: list[Content]
    system_instruction: Content | None = None
    tools: list[ToolSet] = []
    tool_config: ToolConfig | None = None
    generation_config: GenerationConfig = field(default_factory=GenerationConfig)
    safety_settings: list[Json] | None = None
    cached_content: str | None = None
    labels: dict[str, str] | None = None
