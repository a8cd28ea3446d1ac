"""The memory of a library agent: the same as a server's, without one."""

import json
from pathlib import Path

from agio import Agent, AgentRunConfig, Memory, ScriptedCall, ScriptedDriver, ScriptedTurn

REX = ScriptedTurn(text=json.dumps({"memories": [{"content": "Has a dog called Rex.", "message": 1}]}))
NOTHING = ScriptedTurn(text='{"memories": []}')
WAITS = AgentRunConfig(memory_update_async=False)


async def test_what_was_asked_to_be_remembered_is_suggested_when_the_run_ends(tmp_path: Path) -> None:
    """C6: with `memory_update_async=False` before the result; the memory outlives the process."""
    model = ScriptedDriver([ScriptedTurn(text="Noted."), REX])
    async with Agent("ada", model=model, memory="suggest", config=WAITS, store=tmp_path / "a.db") as agent:
        await agent.arun("Remember that my dog is called Rex.")
        [suggestion] = await agent.memory.suggestions()
        await agent.memory.approve(suggestion.id)
    model = ScriptedDriver([ScriptedTurn(text="Rex."), NOTHING])
    async with Agent("ada", model=model, memory="suggest", config=WAITS, store=tmp_path / "a.db") as agent:
        assert await agent.arun("What is my dog called?") == "Rex."
        assert "dog called Rex" in str(model.requests[0].messages[0].content)
        [memory] = await agent.memory.list()
        assert memory.access_count == 1
        assert memory.run_id is not None


async def test_an_automatic_agent_remembers_when_it_is_closed(tmp_path: Path) -> None:
    """C6: a thread that did not end by itself ends with its agent; nothing waits for a person."""
    model = ScriptedDriver([ScriptedTurn(text="Nice."), REX])
    async with Agent("ada", model=model, memory="automatic", store=tmp_path / "a.db") as agent:
        await agent.arun("My dog is called Rex.")
        assert await agent.memory.list() == []
    async with Agent("ada", model=model, memory="off", store=tmp_path / "a.db") as agent:
        assert [each.content for each in await agent.memory.list()] == ["Has a dog called Rex."]
        model = ScriptedDriver([ScriptedTurn(text="No idea.")])
    async with Agent("ada", model=model, memory="off", store=tmp_path / "a.db") as agent:
        await agent.arun("What is my dog called?")
        assert "Rex" not in str(model.requests[0].messages)


async def test_its_tools_save_and_search() -> None:
    """S4: under `suggest` what is saved waits."""
    saves = ScriptedTurn(calls=[ScriptedCall("save_memory", {"content": "Drinks oat milk."})])
    searches = ScriptedTurn(calls=[ScriptedCall("search_memory", {"query": "milk"})])
    done = ScriptedTurn(text="Done.")
    model = ScriptedDriver([saves, done, searches, done, NOTHING, NOTHING])
    async with Agent("ada", model=model, memory=Memory(tools=True)) as agent:
        await agent.arun("I drink oat milk.")
        assert await agent.memory.list() == []
        [suggestion] = await agent.memory.suggestions()
        memory = await agent.memory.approve(suggestion.id)
        await agent.arun("What do I take in coffee?")
        assert "Drinks oat milk." in str(model.requests[3].messages[-1].content)
        assert (await agent.memory.list())[0].access_count == 1
        await agent.memory.delete(memory.id)
        assert await agent.memory.find("milk") == []
