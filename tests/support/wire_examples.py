"""The wire text of tests/wire, and our structs beside the models of `ag_ui` that they stand for."""

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import ag_ui.core
import msgspec
from ag_ui._generated import models
from pydantic import BaseModel, TypeAdapter

from agio.protocol import capabilities, events, messages

WIRE = Path(__file__).parents[1] / "wire"

Wire: TypeAlias = dict[str, object]

OURS: dict[str, object] = {
    "events": events.AgentEvent,
    "messages": messages.Message,
    "inputs": messages.RunAgentInput,
    "capabilities": capabilities.AgentCapabilities,
}
THEIRS: dict[str, TypeAdapter[object]] = {
    "events": TypeAdapter(ag_ui.core.Event),
    "messages": TypeAdapter(ag_ui.core.Message),
    "inputs": TypeAdapter(ag_ui.core.RunAgentInput),
    "capabilities": TypeAdapter(ag_ui.core.AgentCapabilities),
}
OTHER_NAMES = {
    "ContextEntry": "Context",
    "ToolDeclaration": "Tool",
    "SuccessOutcome": "RunFinishedSuccessOutcome",
    "InterruptOutcome": "RunFinishedInterruptOutcome",
    "CancelledOutcome": "RunFinishedCancelledOutcome",
    "SubagentSuccess": "SubagentFinishedSuccessOutcome",
    "SubagentSuspended": "SubagentFinishedSuspendedOutcome",
}


class Example(msgspec.Struct):
    """A wire value and the file it is from."""

    name: str
    wire: Wire
    file: str = ""


class Stream(msgspec.Struct):
    """A named stream; a wrong one names the rule it breaks."""

    name: str
    events: list[Wire]
    rule: str = ""

    @property
    def lines(self) -> list[bytes]:
        """The events as JSON lines."""
        return [json.dumps(event).encode() for event in self.events]


def read_examples() -> list[Example]:
    """Read every example of every file."""
    found: list[Example] = []
    for file in OURS:
        for example in msgspec.json.decode((WIRE / f"{file}.json").read_bytes(), type=list[Example]):
            example.file = file
            found.append(example)
    return found


def read_streams(file: str) -> list[Stream]:
    """Read the streams of a file."""
    return msgspec.json.decode((WIRE / f"{file}.json").read_bytes(), type=list[Stream])


def struct_pairs() -> dict[type[msgspec.Struct], type[BaseModel]]:
    """Return each of our public structs with the model of `ag_ui` it stands for."""
    pairs: dict[type[msgspec.Struct], type[BaseModel]] = {}
    for module in (events, messages, capabilities):
        for name, ours in inspect.getmembers(module, inspect.isclass):
            public = ours.__module__ == module.__name__ and name[0] != "_" and ours is not events.Attributed
            if issubclass(ours, msgspec.Struct) and public:
                their_name = OTHER_NAMES.get(name, name)
                theirs = getattr(models, f"{name}Event", None) or getattr(models, their_name)
                pairs[ours] = theirs
    return pairs


def structs_in(value: object) -> Iterator[msgspec.Struct]:
    """Yield every struct inside a decoded value, itself first."""
    if isinstance(value, msgspec.Struct):
        yield value
        for field in value.__struct_fields__:
            yield from structs_in(getattr(value, field))
    elif isinstance(value, list):
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            yield from structs_in(item)  # pyright: ignore[reportUnknownArgumentType]
