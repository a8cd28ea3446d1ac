"""What the model server will say: replies in no vendor's words; the wires translate them."""

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
    """A tool call of the model. `arguments` given as text are sent as they are, valid or not."""

    name: str
    arguments: dict[str, Json] | str
    id: str | None = None

    def arguments_text(self) -> str:
        """Return the arguments as the JSON text the model writes."""
        return self.arguments if isinstance(self.arguments, str) else json.encode(self.arguments).decode()


class Reply(Struct, frozen=True):
    """One turn of the model: reasoning, then text, then tool calls.

    `stop` None is what fits the content. `hidden_reasoning` sends reasoning that only the vendor can
    read. `interleave` mixes the argument deltas of parallel calls, where the format allows it. With a
    `gate`, half of the answer is sent at once and the rest when the test has set it; until then comments
    keep the model from being taken for silent.
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
        """Why the turn ends, said or guessed."""
        if self.stop is not None:
            return self.stop
        if self.refusal is not None:
            return "refusal"
        return "tool_calls" if self.tool_calls else "end"

    @property
    def tokens(self) -> Usage:
        """The usage of the turn, said or invented."""
        if self.usage is not None:
            return self.usage
        reasoning = len(self.reasoning) // 4
        written = len(self.text) + sum(len(call.arguments_text()) for call in self.tool_calls)
        return Usage(input=25, output=reasoning + written // 4 + 1, reasoning=reasoning)

    def pieces(self, text: str) -> list[str]:
        """Return `text` in the pieces it is streamed in."""
        return [text[at : at + self.chunk_chars] for at in range(0, len(text), self.chunk_chars)]

    def weave(self, calls: Sequence[Sequence[Item]]) -> Iterator[Item]:
        """Yield the deltas of parallel calls in the order they are sent."""
        if not self.interleave:
            for call in calls:
                yield from call
            return
        for round_ in zip_longest(*calls):
            yield from (item for item in round_ if item is not None)
