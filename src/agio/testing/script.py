"""Scripted replies of the model server, vendor-neutral; the wires translate them."""

from asyncio import Event
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TypeVar

from msgspec import Struct, json

from agio.core.model import StopReason, Usage
from agio.protocol.messages import Json
from agio.testing.faults import Fault

Item = TypeVar("Item")


class Call(Struct, frozen=True):
    """A tool call of the model. `arguments` given as text are sent unchanged, valid or not."""

    name: str
    arguments: dict[str, Json] | str
    id: str | None = None

    def arguments_text(self) -> str:
        """Return the arguments as the JSON text the model writes."""
        return self.arguments if isinstance(self.arguments, str) else json.encode(self.arguments).decode()


class Reply(Struct, frozen=True):
    """One turn of the model: reasoning, then text, then tool calls.

    If `stop` is None, the content determines it. `hidden_reasoning` sends reasoning that only the vendor can
    decrypt. `interleave` mixes the argument deltas of parallel calls, where the format allows it. With a
    `gate`, half of the reply is sent at once and the rest after the test has set it; until then comments keep
    the stream alive.
    """

    text: str = ""
    reasoning: str = ""
    tool_calls: Sequence[Call] = ()
    refusal: str | None = None
    usage: Usage | None = None
    stop: StopReason | None = None
    chunk_chars: int = 8
    pace_s: float = 0
    gate: Event | None = None
    interleave: bool = False
    hidden_reasoning: bool = False
    fault: Fault | None = None

    @property
    def stop_reason(self) -> StopReason:
        """The stop reason: as scripted, else derived from the content."""
        if self.stop is not None:
            return self.stop
        if self.refusal is not None:
            return "refusal"
        return "tool_calls" if self.tool_calls else "end"

    @property
    def tokens(self) -> Usage:
        """The usage of the turn: as scripted, else invented."""
        if self.usage is not None:
            return self.usage
        reasoning = len(self.reasoning) // 4
        written = len(self.text) + sum(len(call.arguments_text()) for call in self.tool_calls)
        return Usage(input=25, output=reasoning + written // 4 + 1, reasoning=reasoning)

    def pieces(self, text: str) -> list[str]:
        """Split `text` into the pieces of its stream."""
        return [text[at : at + self.chunk_chars] for at in range(0, len(text), self.chunk_chars)]

    def weave(self, calls: Sequence[Sequence[Item]]) -> Iterator[Item]:
        """Yield the deltas of parallel calls in sending order."""
        if not self.interleave:
            for call in calls:
                yield from call
            return
        for round_ in zip_longest(*calls):
            yield from (item for item in round_ if item is not None)
