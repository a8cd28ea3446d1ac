"""`find_tools`: past `max_tool_tokens` of declarations the model searches its MCP tools instead of reading all of them.

What was found is read from the conversation, so a run that another process resumes shows the same tools.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import UNSET

from agio.core.model import ToolSpec
from agio.core.text import estimate_tokens
from agio.core.tool import ToolAnswer
from agio.protocol.messages import AssistantMessage, Message, ToolMessage, decoded_object, text_of

FIND_TOOLS = "find_tools"
_FOUND = 8
_DESCRIPTION_CHARS = 300
_NAMES_CHARS = 2000
_WORD = re.compile(r"[a-z0-9]+")


class _Found(msgspec.Struct, frozen=True):
    name: str
    description: str


class _Answer(msgspec.Struct, frozen=True):
    tools: list[_Found]


def shown_tools(specs: Sequence[ToolSpec], messages: Sequence[Message], limit_tokens: int) -> list[ToolSpec]:
    """Return the tools declared to the model: all, or `find_tools` in place of those not found or used yet."""
    if not any(spec.searchable for spec in specs) or sum(map(size_of, specs)) <= limit_tokens:
        return list(specs)
    if any(spec.name == FIND_TOOLS for spec in specs):  # the agent has its own
        return list(specs)
    known = set(_known(messages))
    kept = [spec for spec in specs if not spec.searchable or spec.name in known]
    return [*kept, _find_tool([spec.name for spec in specs if spec.searchable])]


def find_tools(arguments: str, specs: Sequence[ToolSpec]) -> ToolAnswer:
    """Answer a call of `find_tools`: the tools whose name or description has most of the words."""
    query = decoded_object(arguments).get("query")
    if not isinstance(query, str) or not (words := set(_WORD.findall(query.lower()))):
        return ToolAnswer(
            f"{FIND_TOOLS} needs a query: some words on what the tool should do.", "bad_arguments"
        )
    scored = [(_score(spec, words), spec) for spec in specs if spec.searchable]
    best = sorted((pair for pair in scored if pair[0]), key=lambda pair: -pair[0])[:_FOUND]
    found = [_Found(spec.name, spec.description[:_DESCRIPTION_CHARS]) for _, spec in best]
    return ToolAnswer(msgspec.json.encode(_Answer(found)).decode())


def size_of(tool: ToolSpec) -> int:
    """Estimate the tokens of a tool's declaration."""
    return estimate_tokens(tool.name + tool.description) + len(msgspec.json.encode(tool.parameters)) // 4


def _find_tool(names: Sequence[str]) -> ToolSpec:
    listed = ", ".join(names)
    if len(listed) > _NAMES_CHARS:
        listed = f"{listed[:_NAMES_CHARS]} ..."
    return ToolSpec(
        FIND_TOOLS,
        f"Find tools by what they do; you can call those it returns. There are {len(names)}: {listed}",
        {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What the tool should do, in some words."}
            },
            "required": ["query"],
            "additionalProperties": False,
        },
    )


def _known(messages: Sequence[Message]) -> Iterator[str]:
    """Return the names of the tools that were found or called."""
    searches: set[str] = set()
    for message in messages:
        if isinstance(message, AssistantMessage) and message.tool_calls is not UNSET:
            for call in message.tool_calls:
                yield call.function.name
                if call.function.name == FIND_TOOLS:
                    searches.add(call.id)
        elif isinstance(message, ToolMessage) and message.tool_call_id in searches:
            try:
                yield from (
                    tool.name for tool in msgspec.json.decode(text_of(message.content), type=_Answer).tools
                )
            except msgspec.DecodeError:
                continue


def _score(spec: ToolSpec, words: set[str]) -> int:
    named, described = _WORD.findall(spec.name.lower()), _WORD.findall(spec.description.lower())
    return sum(3 * (word in named) + (word in described) for word in words)
