"""A tool call that must happen once is recorded before it acts and when it is done."""

import asyncio

import pytest

from agio.core.store.repository import AgentRunRepository, ToolRecord
from agio.errors import StoreError
from agio.protocol.messages import TextPart
from tests.support.backends import begin, finish


async def test_a_call_begins_once_and_its_result_is_known_afterwards(store: AgentRunRepository) -> None:
    """B1: the first begin goes ahead, a second learns that it is under way, then its result."""
    await begin(store, "r1")
    assert await store.begin_tool("r1", "1.0") is None
    assert await store.begin_tool("r1", "1.0") == ToolRecord(None)
    assert await store.begin_tool("r1", "1.1") is None
    await store.end_tool("r1", "1.0", ToolRecord("42 é"))
    assert await store.begin_tool("r1", "1.0") == ToolRecord("42 é")
    assert await store.begin_tool("r1", "1.1") == ToolRecord(None)


async def test_keys_belong_to_their_run(store: AgentRunRepository) -> None:
    """B1: the same key in another run is another call."""
    await begin(store, "r1")
    await begin(store, "r2", thread="t2")
    await store.begin_tool("r1", "1.0")
    assert await store.begin_tool("r2", "1.0") is None


async def test_the_first_result_stays(store: AgentRunRepository) -> None:
    """B1: a repeated end does not change what was told."""
    await begin(store, "r1")
    await store.begin_tool("r1", "1.0")
    await store.end_tool("r1", "1.0", ToolRecord("first"))
    await store.end_tool("r1", "1.0", ToolRecord("second"))
    assert await store.begin_tool("r1", "1.0") == ToolRecord("first")


@pytest.mark.parametrize(
    "record",
    [
        ToolRecord("text"),
        ToolRecord(""),
        ToolRecord([TextPart(text="part")]),
        ToolRecord("no", "tool_failed"),
    ],
)
async def test_a_result_comes_back_as_it_was(store: AgentRunRepository, record: ToolRecord) -> None:
    """B1: text, parts and errors are kept."""
    await begin(store, "r1")
    await store.begin_tool("r1", "1.0")
    await store.end_tool("r1", "1.0", record)
    assert await store.begin_tool("r1", "1.0") == record


async def test_of_many_begins_at_once_one_goes_ahead(store: AgentRunRepository) -> None:
    """B1: two workers that believe they own a call do not both act."""
    await begin(store, "r1")
    answers = await asyncio.gather(*(store.begin_tool("r1", "1.0") for _ in range(5)))
    assert answers.count(None) == 1


async def test_no_call_begins_after_the_end_but_a_late_result_is_kept(store: AgentRunRepository) -> None:
    """B1: an ended run starts nothing; what was under way may still report."""
    await begin(store, "r1")
    await store.begin_tool("r1", "1.0")
    await finish(store, "r1", 1)
    with pytest.raises(StoreError, match="run_ended"):
        await store.begin_tool("r1", "1.1")
    await store.end_tool("r1", "1.0", ToolRecord("late"))
    assert await store.begin_tool("r1", "1.0") == ToolRecord("late")
