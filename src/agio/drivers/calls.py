"""The streaming tool calls of a turn: begun in order, each argument emitted once, each call closed once."""

from msgspec import Struct, field

from agio.core.model import ModelEvent, ToolCallBegin, ToolCallDelta, ToolCallDone
from agio.drivers.kept import Kept


class OpenCall(Struct):
    """A call in progress. `vendor_id` may be empty or equal another call's."""

    index: int
    name: str = ""
    vendor_id: str = ""
    pieces: list[str] = field(default_factory=list[str])
    ready: bool = False
    begun: bool = False
    done: bool = False

    @property
    def arguments(self) -> str:
        """The arguments received so far."""
        return "".join(self.pieces)


class OpenCalls:
    """The calls of one turn, in the order they appeared."""

    def __init__(self, kept: Kept) -> None:
        self.calls: list[OpenCall] = []
        self._kept = kept
        self._begun = 0

    def open(self, name: str, vendor_id: str) -> OpenCall:
        """Add a new call; it emits no event before `begin`."""
        call = OpenCall(len(self.calls), name, vendor_id)
        self.calls.append(call)
        return call

    def begin(self, call: OpenCall, out: list[ModelEvent]) -> None:
        """Begin the call, whose name is complete. It waits until the calls before it have begun."""
        call.ready = True
        for waiting in self.calls[self._begun :]:
            if not waiting.ready:
                break
            self._begun += 1
            waiting.begun = True
            out.append(ToolCallBegin(waiting.index, waiting.name))
            if waiting.pieces:
                out.append(ToolCallDelta(waiting.index, waiting.arguments))
            if waiting.done:
                out.append(ToolCallDone(waiting.index))

    def add(self, call: OpenCall, arguments: str, out: list[ModelEvent]) -> None:
        """Append to the arguments and emit the delta."""
        if not arguments or call.done:
            return
        call.pieces.append(arguments)
        if call.begun:
            out.append(ToolCallDelta(call.index, arguments))
        else:
            self._kept.add(arguments)
            self.begin(call, out)

    def finish(self, call: OpenCall, whole: str | None, out: list[ModelEvent]) -> None:
        """Close the call. If the vendor repeats the arguments, `whole` supplies the part that was not streamed."""
        if call.done:
            return
        if whole and whole.startswith(call.arguments):
            self.add(call, whole[len(call.arguments) :], out)
        if not call.pieces:
            self.add(call, "{}", out)
        call.done = True
        if call.begun:
            out.append(ToolCallDone(call.index))
        else:
            self.begin(call, out)

    def finish_all(self, out: list[ModelEvent]) -> None:
        """Close the calls still open at the end of a turn."""
        for call in self.calls:
            self.finish(call, None, out)
