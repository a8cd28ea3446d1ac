"""Citations: what the `[n]` of an answer stand for. A number that stands for no passage is no citation."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from agio.core.document import Citation
from agio.core.run.lane import Lane
from agio.protocol.events import CITATIONS
from agio.protocol.messages import AssistantMessage, Json, ToolMessage, text_of

if TYPE_CHECKING:
    from agio.core.engine.loop import LoopState

TOOLS = frozenset({"search_documents", "read_document"})
"""The built-in tools whose results have passages."""
_NUMBER = re.compile(r"\[(\d{1,9}(?:\s*,\s*\d{1,9})*)\]")


class _Result(msgspec.Struct):
    passages: list[Citation] = []


class _Cited(msgspec.Struct):
    citations: list[Citation] = []


def cite(state: "LoopState") -> None:
    """Emit what the text of the turn in progress cites, if anything."""
    draft = state.lane.draft
    if draft is None or not draft.text:
        return
    numbers = cited_numbers("".join(draft.text))
    if not numbers:
        return
    known = {**_known(state.lane), **state.context.citations}
    found: list[Json] = [msgspec.to_builtins(known[number]) for number in numbers if number in known]
    if found:
        state.tell(CITATIONS, {"messageId": draft.message_id, "citations": found})


def cited_numbers(text: str) -> list[int]:
    """Return the numbers in brackets of a text, each once."""
    return list(dict.fromkeys(int(part) for found in _NUMBER.finditer(text) for part in found[1].split(",")))


def _known(lane: Lane) -> dict[int, Citation]:
    """Return the passages that the conversation has: of tools' results, and those that earlier answers cite."""
    known: dict[int, Citation] = {}
    called: set[str] = set()
    for message in lane.messages:
        if isinstance(message, AssistantMessage):
            if message.tool_calls:
                called |= {call.id for call in message.tool_calls if call.function.name in TOOLS}
            if message.metadata and "citations" in message.metadata:
                known |= {each.number: each for each in msgspec.convert(message.metadata, _Cited).citations}
        elif isinstance(message, ToolMessage) and message.tool_call_id in called:
            known |= {each.number: each for each in _passages(text_of(message.content))}
    return known


def _passages(text: str) -> Iterator[Citation]:
    try:
        result = msgspec.json.decode(text, type=_Result)
    except msgspec.MsgspecError:  # an error, or a tool of the same name
        return
    yield from (each for each in result.passages if each.number > 0)
