"""The tables of the pages say what the source says: events, fields, codes, limits, variables."""

import os
from pathlib import Path
from typing import cast, get_args

import msgspec
import pytest

from agio import Agent, AgentRunConfig, ModelSettings, Price, ScriptedCall, ScriptedDriver, ScriptedTurn, tool
from agio.core.config import ServerLimits
from agio.core.document import Citation
from agio.core.engine.context import NoContext, Snippet
from agio.core.engine.runner import AgentRunner
from agio.core.model import Usage
from agio.core.run.spec import AgentSpec, RunRequest
from agio.core.store.repository import RunInput
from agio.core.tool import ToolContext
from agio.db.repository import open_store
from agio.drivers.registry import PROVIDERS
from agio.errors import ModelError
from agio.execution.tool_executor import ToolExecutor
from agio.protocol import events
from agio.protocol.codec import decode_event, encode
from agio.protocol.events import AgentEvent, Custom
from agio.protocol.messages import UserMessage, json_object
from agio.settings import load_commands, load_server_settings, load_settings
from tests.support.pages import ROOT, blocks_of, rows_under, unquoted

PROTOCOL = ROOT / "docs" / "streaming_protocol.md"
CONFIGURATION = ROOT / "docs" / "configuration.md"
EVENT_TYPES = {
    str(kind.__struct_config__.tag) for kind in cast("tuple[type[msgspec.Struct]]", get_args(AgentEvent))
}


def _first_cells(heading: str) -> list[str]:
    return [unquoted(row[0]) for row in rows_under(PROTOCOL, heading)]


def test_every_event_type_is_on_the_page_once_and_no_other_is() -> None:
    """L8: the tables of events name the 31 types of the protocol."""
    sections = ("A run", "Text", "Reasoning", "Tool calls", "Sub-agents", "Events agio does not emit")
    named = [name for section in sections for name in _first_cells(section)]
    assert sorted(named) == sorted(EVENT_TYPES)
    assert len(named) == 31


def test_every_event_type_has_an_example_that_is_one() -> None:
    """L8: the examples are valid events as agio writes them, and cover every type."""
    shown: set[str] = set()
    for block in blocks_of(PROTOCOL, "jsonl"):
        for line in block.code.splitlines():
            event = decode_event(line)
            assert msgspec.json.decode(encode(event)) == msgspec.json.decode(line), block.place
            shown.add(event.type)
    assert shown == EVENT_TYPES


def test_the_names_of_agios_own_events_are_on_the_page() -> None:
    """L8: each `agio.*` event is described, and none that does not exist."""
    names = {
        value for name, value in vars(events).items() if name.isupper() and str(value).startswith("agio.")
    }
    assert set(_first_cells("agio's own events")) == names


def test_the_page_names_what_others_call_our_events() -> None:
    """L8: the seven names of other systems are translated."""
    assert set(_first_cells("Names others use")) == {
        *("reasoning", "tool_call", "tool_result", "response", "done", "text_delta", "metrics_snapshot")
    }


@tool
def work(context: ToolContext) -> str:
    """Do some work."""
    context.progress("half-way", 0.5)
    return "worked"


class Shelf(NoContext):
    """A passage that an answer can cite."""

    async def documents(self, query: str, limit: int) -> list[Snippet]:
        """Return it."""
        place = Citation(number=1, document_id="d", version_id="v", name="n", start=0, end=1)
        return [Snippet("n", "[1] x", citation=place)]


async def test_the_fields_of_agios_own_events_are_on_the_page() -> None:
    """L8: what the events of real runs carry is what the page says they carry."""
    broken = ModelError("stream_broken", "It broke.", retryable=True)
    model = ScriptedDriver(
        [
            ScriptedTurn(text="Wait", fails=broken, told=Usage(5)),
            ScriptedTurn(calls=[ScriptedCall("work")]),
            ScriptedTurn(text="no JSON", stop="length"),
            ScriptedTurn(text='{"n": 1}'),
        ]
    )
    config = AgentRunConfig(backoff_s=0, prices={"scripted:scripted": Price(1, 1)})
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    agent = Agent("worker", model=model, tools=[work], output_type=schema, config=config)
    store = await open_store(":memory:")
    spec = AgentSpec("worker", "", "scripted", "scripted")
    runner = AgentRunner(spec, ScriptedDriver([ScriptedTurn("Done.")]), ToolExecutor((), spec.config), store)
    runner.suggested = ["sug_1"]
    steered = runner.run_stream(
        RunRequest(session_id="thr_1", messages=[UserMessage(id="u1", content="Work.")])
    )
    steered.give([RunInput(1, UserMessage(id="u2", content="Faster."))])
    events = [event async for event in agent.arun_stream("Work.")] + [event async for event in steered]
    short = Agent(
        "short",
        model=ScriptedDriver([ScriptedTurn("word " * 400)] * 2 + [ScriptedTurn("Fine.")]),
        config=AgentRunConfig(context_tokens=700),
    )
    first = short.arun_stream("One")
    events += [event async for event in first]
    events += [event async for event in short.arun_stream("Two", thread_id=first.thread_id)]
    desk_model = ScriptedDriver([ScriptedTurn(calls=[ScriptedCall("transfer_to_other", {"reason": "x"})])])
    other = Agent("other", model=ScriptedDriver([ScriptedTurn("Here.")]))
    events += [event async for event in Agent("desk", model=desk_model, handoffs=[other]).arun_stream("Hi")]
    cited = Agent("cited", model=ScriptedDriver([ScriptedTurn("So [1].")]), source=Shelf())
    events += [event async for event in cited.arun_stream("Why?")]
    carried = {
        (event.name, field)
        for event in events
        if isinstance(event, Custom)
        for field in json_object(event.value)
    }
    await store.close()
    rows = rows_under(PROTOCOL, "agio's own events")
    assert carried == {(unquoted(row[0]), unquoted(row[1])) for row in rows}


@pytest.mark.parametrize(
    "config", [AgentRunConfig(), ModelSettings(), ServerLimits()], ids=lambda c: type(c).__name__
)
def test_the_table_of_a_configuration_has_its_fields_and_defaults(config: msgspec.Struct) -> None:
    """L6: every field is on the page, in order, with the default it has."""
    rows = rows_under(CONFIGURATION, type(config).__name__)
    named = {unquoted(row[0]): eval(unquoted(row[1]), {"ModelSettings": ModelSettings}) for row in rows}
    assert list(named.items()) == list(msgspec.structs.asdict(config).items())


def test_the_table_of_the_environment_names_what_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """L6, R12: the variables on the page are those that the settings look at."""
    asked: set[str] = set()

    class Environment(dict[str, str]):
        def get(self, key: str, default: object = None) -> object:  # pyright: ignore[reportIncompatibleMethodOverride]
            asked.add(key)
            return super().get(key, default)

    monkeypatch.setattr(os, "environ", Environment(HOME="/nowhere"))
    load_settings()
    load_server_settings()
    load_commands(Path("/nowhere"))
    assert {unquoted(row[0]) for row in rows_under(CONFIGURATION, "Environment")} == asked - {"HOME"}


def test_the_tables_of_providers_name_them_all() -> None:
    """L3, R12: README and drivers.md list the providers there are."""
    readme = [unquoted(row[0]).partition(":")[0] for row in rows_under(ROOT / "README.md", "Models")]
    drivers = [unquoted(row[0]) for row in rows_under(ROOT / "docs" / "drivers.md", "Models and drivers")]
    assert readme == list(PROVIDERS)
    assert drivers[: len(PROVIDERS)] == list(PROVIDERS)
