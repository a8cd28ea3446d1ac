"""Conversations that programs keep with the Agents SDK, on every store."""

from pathlib import Path
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, SessionSettings
from agents.memory.session import Session
from agents.testing import ScriptedModel, assistant_message

from agio import AgioSession
from agio.db.repository import Repository


async def test_a_session_keeps_items_in_order_and_apart(store: Repository) -> None:
    """R13: the SDK's `Session` protocol; another session, and another team's of the same name, has nothing of it."""
    ours = AgioSession("talk", store=store)
    others = [AgioSession("other", store=store), AgioSession("talk", store=store, tenant="acme")]
    assert isinstance(ours, Session)
    said: list[Any] = [{"role": "user", "content": f"word {number}"} for number in range(3)]
    await ours.add_items(said[:1])
    await ours.add_items(said[1:])
    assert await ours.get_items() == said
    assert await ours.get_items(limit=2) == said[1:]
    assert await ours.get_items(limit=0) == []
    newest = AgioSession("talk", store=store, session_settings=SessionSettings(limit=1))
    assert await newest.get_items() == said[2:]
    assert [await other.get_items() for other in others] == [[], []]
    assert await ours.pop_item() == said[2]
    await others[1].clear_session()
    assert await ours.get_items() == said[:2]
    await ours.clear_session()
    assert await ours.pop_item() is None
    await ours.add_items(said)
    assert await ours.get_items() == said


@pytest.mark.parametrize("times", [1, 2])
async def test_a_conversation_outlives_the_program(tmp_path: Path, times: int) -> None:
    """R13: in a script, with the SDK's own Runner."""
    path = tmp_path / "runs.db"
    for number in range(times):
        model = ScriptedModel([[assistant_message(f"Hello {number}.")]])
        async with AgioSession("talk", store=path) as session:
            result = await Runner.run(
                Agent[Any]("a", model=model),
                f"Hi {number}",
                session=session,
                run_config=RunConfig(tracing_disabled=True),
            )
            assert result.final_output == f"Hello {number}."
            assert len(await session.get_items()) == 2 * (number + 1)
        assert len(model.calls[0].input) == 2 * number + 1
