"""What people get wrong: each a clear error with a stable code that says what to do."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import cast

import pytest

from agio import (
    Agent,
    AgentRunConfig,
    AgioError,
    ResumeEntry,
    RunError,
    ScriptedCall,
    ScriptedDriver,
    ScriptedTurn,
    StoreError,
    ToolCallResult,
    UserError,
    UserMessage,
    client_tool,
    tool,
)
from agio.core.engine.runner import RunResult
from agio.core.model import ModelDriver
from agio.db.queries import load_queries
from agio.db.sqlite.database import open_writable
from agio.protocol.messages import Content, Message, TextPart, ToolDeclaration
from agio.testing import ModelServer, Reply, VendorError

WIRES = ("openai-chat", "openai", "anthropic", "gemini")
PATIENCE_S = 60


@tool
def look() -> object:
    """Look."""
    return object()


@tool(approval="ask")
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def scripted(*turns: ScriptedTurn) -> ScriptedDriver:
    return ScriptedDriver(turns or [ScriptedTurn("Fine.")] * 5)


def check(error: AgioError | None, code: str, *advice: str) -> None:
    """Assert the code, and that the sentence says these things."""
    assert error is not None
    assert error.code == code
    for words in advice:
        assert words in error.message, error.message


@pytest.mark.parametrize(
    ("model", "code", "advice"),
    [
        ("opnai:gpt-5", "unknown_provider", ("Did you mean openai?", "anthropic")),
        ("zzz:gpt-5", "unknown_provider", ("The providers are openai",)),
        ("gpt-5", "invalid_model", ("write provider:model",)),
        ("openai:", "invalid_model", ("write provider:model",)),
        ("", "invalid_model", ("write provider:model",)),
        (5, "invalid_model", ("write provider:model", "int")),
    ],
)
def test_a_model_nobody_knows_is_refused_at_once(model: object, code: str, advice: tuple[str, ...]) -> None:
    """L13: unknown provider, with the nearest name."""
    with pytest.raises(UserError) as caught:
        Agent("a", model=cast("str | ModelDriver", model))
    check(caught.value, code, *advice)


@pytest.mark.parametrize(
    ("provider", "variable"),
    [
        ("openai", "OPENAI_API_KEY"),
        ("openai-chat", "OPENAI_API_KEY"),
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("gemini", "GEMINI_API_KEY"),
    ],
)
async def test_a_missing_key_names_its_variable(
    provider: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """L13: missing key."""
    for name in ("OPENAI", "ANTHROPIC", "GEMINI"):
        monkeypatch.delenv(f"{name}_API_KEY", raising=False)
        monkeypatch.delenv(f"{name}_BASE_URL", raising=False)
    async with Agent("a", model=f"{provider}:x") as agent:
        with pytest.raises(UserError) as caught:
            await agent.arun("Hi")
    check(caught.value, "missing_provider_key", f"set {variable}", "demo:demo")


@pytest.mark.parametrize("wire", WIRES)
async def test_a_model_the_service_does_not_have(wire: str) -> None:
    """L13: the run ends with RUN_ERROR `model_not_found` that names the model."""
    async with (
        ModelServer() as server,
        Agent("a", model=f"{wire}:nope", base_url=server.base_url(wire), api_key="test-key") as agent,
    ):
        server.script(Reply(fault=VendorError("model_not_found")))
        run = agent.arun_stream("Hi")
        events = [event async for event in run]
        result = await run.result()
    assert isinstance(events[-1], RunError)
    assert events[-1].code == "model_not_found"
    check(result.error, "model_not_found", "does not know this model or address", "nope")
    assert len(server.calls) == 1


@pytest.mark.parametrize(
    "parameters",
    [{"type": "array"}, {"type": "object", "properties": {"a": {"type": "strin"}}}, "text", [], 5],
)
async def test_a_malformed_tool_schema_of_a_client(parameters: object) -> None:
    """L13: malformed tool schema, wherever it comes from."""
    async with Agent("a", model=scripted()) as agent:
        with pytest.raises(UserError) as caught:
            await agent.arun_stream("Hi", tools=[ToolDeclaration("remote", "", parameters)]).result()
    check(caught.value, "invalid_schema", "remote", "JSON schema")


async def test_two_tools_of_one_name() -> None:
    """L13: the agent's own two, agio's own, and one the client declares beside the agent's."""

    @tool
    def complete_goal() -> None:
        """Not agio's."""

    for tools in ([look, look], [complete_goal]):
        with pytest.raises(UserError) as caught:
            Agent("a", tools=tools)
        check(caught.value, "duplicate_tool", "ame")
    async with Agent("a", model=scripted(), tools=[look]) as agent:
        for name in ("look", "complete_goal"):
            with pytest.raises(UserError) as caught:
                await agent.arun_stream("Hi", tools=[ToolDeclaration(name, "")]).result()
            check(caught.value, "duplicate_tool", name)
        assert await agent.list_runs() == []


async def test_a_tool_result_that_cannot_be_serialised() -> None:
    """L13: the run goes on and the model is told."""
    model = scripted(ScriptedTurn(calls=[ScriptedCall("look")]), ScriptedTurn("I see nothing."))
    async with Agent("a", model=model, tools=[look]) as agent:
        run = agent.arun_stream("Look.")
        events = [event async for event in run]
        assert (await run.result()).text == "I see nothing."
    (result,) = [event for event in events if isinstance(event, ToolCallResult)]
    assert result.metadata["error"] == "unserialisable_result"  # pyright: ignore
    assert "cannot be serialised as JSON" in str(model.requests[1].messages[-1])


async def test_a_prompt_larger_than_the_budget() -> None:
    """L13: RUN_ERROR `prompt_too_large`, before any model call."""
    model = scripted()
    async with Agent("a", model=model, config=AgentRunConfig(context_tokens=200)) as agent:
        run = agent.arun_stream("x" * 4000)
        events = [event async for event in run]
        check((await run.result()).error, "prompt_too_large", "Send less, or raise context_tokens")
    assert isinstance(events[-1], RunError)
    assert events[-1].code == "prompt_too_large"
    assert model.requests == []


@pytest.mark.parametrize(
    ("message", "code", "advice"),
    [
        ("é" * 60, "message_too_large", "100 bytes"),
        ([TextPart("é" * 60)], "message_too_large", "100 bytes"),
        ("", "empty_message", "empty"),
        (" \n\t", "empty_message", "empty"),
        ([], "empty_message", "send a message"),
        (5, "invalid_message", "not int"),
        (None, "invalid_message", "not NoneType"),
        ({"text": "hi"}, "invalid_message", "not dict"),
        (b"bytes", "invalid_message", "Send text"),
        (["text"], "invalid_message", "Send text"),
        ("\ud800", "invalid_message", "surrogates"),
        ([UserMessage(id="1", content=cast(Content, 5))], "invalid_message", "content"),
        ([UserMessage(id=cast(str, None), content="hi")], "invalid_message", "id"),
    ],
    ids=lambda value: str(value)[:20],
)
async def test_a_message_that_cannot_be_taken(message: object, code: str, advice: str) -> None:
    """L13: too large, empty, or no message at all; nothing is left in the store."""
    async with Agent("a", model=scripted(), config=AgentRunConfig(max_message_bytes=100)) as agent:
        with pytest.raises(UserError) as caught:
            await agent.arun_stream(cast("str | list[Message]", message)).result()
        check(caught.value, code, advice)
        assert await agent.list_runs() == []


@pytest.mark.parametrize(
    ("arguments", "code", "advice"),
    [
        ({"name": 5}, "invalid_agent", "name must be text"),
        ({"instructions": None}, "invalid_agent", "instructions must be text"),
        ({"goal": 5}, "invalid_agent", "goal must be text"),
        ({"tools": [5]}, "invalid_tool", "name"),
        ({"tools": [lambda x: x]}, "invalid_tool", "hint"),  # pyright: ignore
        ({"output_type": complex}, "invalid_schema", "Use plain types"),
        ({"output_type": "Person"}, "invalid_schema", "output_type"),
        ({"output_type": {"type": "nope"}}, "invalid_schema", "output_type"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_an_agent_of_wrong_parts_is_refused_at_once(
    arguments: dict[str, object], code: str, advice: str
) -> None:
    """L13: wrong types are found when the agent is made, not when it runs."""
    make = cast("type[object]", Agent)
    with pytest.raises(UserError) as caught:
        make(**{"name": "a", **arguments})
    check(caught.value, code, advice)


async def test_a_store_written_by_a_newer_agio(tmp_path: Path) -> None:
    """L13: the error says which schema it found and to upgrade."""
    path = tmp_path / "agio.db"
    async with Agent("a", model=scripted(), store=path) as agent:
        await agent.arun("Hi")
    connection, lock = open_writable(path)
    connection.execute(load_queries("sqlite")["add_migration"], (999, "from the future", 0))
    connection.close()
    assert lock is not None
    lock.release()
    async with Agent("a", model=scripted(), store=path) as agent:
        with pytest.raises(StoreError) as caught:
            await agent.arun("Hi")
    check(caught.value, "store_newer", "999", "Upgrade agio or use another file", str(path))


@pytest.mark.parametrize("content", [b"This is no database." * 100, b"SQLite format 3\x00" + b"\xff" * 4096])
async def test_a_corrupt_store_file(tmp_path: Path, content: bytes) -> None:
    """L13: the file is named, and is not touched."""
    path = tmp_path / "agio.db"
    path.write_bytes(content)
    async with Agent("a", model=scripted(), store=path) as agent:
        with pytest.raises(StoreError) as caught:
            await agent.arun("Hi")
    check(caught.value, "store_corrupt", str(path), "Restore a copy or use another file")
    assert path.read_bytes() == content


HOLD = """
import asyncio, sys
from agio import Agent

async def main():
    async with Agent("holder", store=sys.argv[1]) as agent:
        await agent.arun("Hi")
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.read)

asyncio.run(main())
"""


async def test_a_second_process_on_the_same_store(tmp_path: Path) -> None:
    """L13: the error names the process that has it; when that ends, the store opens."""
    path = tmp_path / "agio.db"
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOLD, str(path), stdin=PIPE, stdout=PIPE
    )
    try:
        assert holder.stdout is not None
        assert await asyncio.wait_for(holder.stdout.readline(), PATIENCE_S) == b"ready\n"
        async with Agent("a", model=scripted(), store=path) as agent:
            with pytest.raises(StoreError) as caught:
                await agent.arun("Hi")
            check(caught.value, "store_locked", f"process {holder.pid}", "Close it there, use another file")
            await asyncio.wait_for(holder.communicate(b""), PATIENCE_S)
            assert await agent.arun("Hi") == "Fine."
    finally:
        if holder.returncode is None:
            holder.kill()
            await holder.communicate()


async def test_one_file_by_two_names_is_one_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """L10: `~`, relative paths and links lead to the file they name, which agents of a process share."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.db").symlink_to(tmp_path / "agio.db")
    for store in ("~/agio.db", "./agio.db", "link.db"):
        async with (
            Agent("a", model=scripted(), store=tmp_path / "agio.db") as first,
            Agent("a", model=scripted(), store=store) as second,
        ):
            await first.arun("Hi")
            await second.arun("Hi")
            assert await second.list_runs() == await first.list_runs()
    assert not (tmp_path / "~").exists()


async def test_runs_that_begin_at_once_share_one_store() -> None:
    """L10: the first use of an agent may be several runs at the same time."""
    async with Agent("a", model=ScriptedDriver(lambda _: ScriptedTurn("Fine."))) as agent:
        assert await asyncio.gather(*(agent.arun("Hi") for _ in range(5))) == ["Fine."] * 5
        assert [run.status for run in await agent.list_runs()] == ["completed"] * 5


async def test_a_result_for_a_call_nobody_made() -> None:
    """L13: in an unknown thread, and in one that waits for another call."""
    remote = client_tool("remote", "Ask the client.", {"type": "object"})
    model = scripted(ScriptedTurn(calls=[ScriptedCall("remote")]), ScriptedTurn("Fine."))
    async with Agent("a", model=model, tools=[remote]) as agent:
        first = await agent.arun_stream("Hi").result()
        (call_id,) = first.pending_tool_call_ids
        for thread_id, asked in (("thr_unknown", call_id), (first.thread_id, "call_unknown")):
            with pytest.raises(UserError) as caught:
                await agent.arun_stream(thread_id=thread_id, tool_results={asked: "x"}).result()
            check(caught.value, "unknown_tool_call", asked, "this thread")
        wrong = cast(Content, {"degrees": 5})
        with pytest.raises(UserError) as caught:
            await agent.arun_stream(thread_id=first.thread_id, tool_results={call_id: wrong}).result()
        check(caught.value, "invalid_message", "content")
        good = await agent.arun_stream(thread_id=first.thread_id, tool_results={call_id: "5"}).result()
        assert good.text == "Fine."
        with pytest.raises(UserError) as caught:
            await agent.arun_stream(thread_id=first.thread_id, tool_results={call_id: "6"}).result()
        check(caught.value, "unknown_tool_call", call_id)


async def asked_to_pay(agent: Agent) -> tuple[RunResult, str]:
    result = await agent.arun_stream("Pay.").result()
    (interrupt,) = result.interrupts
    return result, interrupt.id


async def test_an_answer_to_a_question_nobody_asked() -> None:
    """L13: unknown interrupts, and the same one twice."""
    model = scripted(ScriptedTurn(calls=[ScriptedCall("pay", {"amount": 5})]), ScriptedTurn("Paid."))
    async with Agent("a", model=model, tools=[pay]) as agent:
        first, question = await asked_to_pay(agent)
        for thread_id, asked in (("thr_unknown", question), (first.thread_id, "int_unknown")):
            entry = ResumeEntry(asked, "resolved", {"approved": True})
            with pytest.raises(UserError) as caught:
                await agent.arun_stream(thread_id=thread_id, resume=[entry]).result()
            check(caught.value, "unknown_interrupt", asked, "open in this thread")
        entry = ResumeEntry(question, "resolved", {"approved": True})
        assert (await agent.arun_stream(thread_id=first.thread_id, resume=[entry]).result()).text == "Paid."
        with pytest.raises(UserError) as caught:
            await agent.arun_stream(thread_id=first.thread_id, resume=[entry]).result()
        check(caught.value, "unknown_interrupt", question)


async def test_text_alone_cannot_answer_for_a_waiting_run() -> None:
    """L13: `arun` says that the run waits, and what to use instead."""
    model = scripted(ScriptedTurn(calls=[ScriptedCall("pay", {"amount": 5})]))
    async with Agent("a", model=model, tools=[pay]) as agent:
        with pytest.raises(UserError) as caught:
            await agent.arun("Pay.")
    check(caught.value, "needs_answer", "use arun_stream() and answer it")


async def test_a_thread_that_is_busy() -> None:
    """L13: a thread has one run at a time; the error names the run and how to go on."""
    free = asyncio.Event()
    model = scripted(ScriptedTurn("Slow.", waits=free), ScriptedTurn("Fine."))
    async with Agent("a", model=model) as agent, agent.arun_stream("Hi", thread_id="thr_1") as run:
        await anext(run)
        with pytest.raises(UserError) as caught:
            await agent.arun("Me too", thread_id="thr_1")
        check(caught.value, "thread_busy", run.run_id, "resume_run")
        free.set()
        assert (await run.result()).text == "Slow."
        assert await agent.arun("Now", thread_id="thr_1") == "Fine."


async def test_a_run_that_does_not_exist() -> None:
    """L13: histories and resumptions of unknown runs."""
    async with Agent("a", model=scripted()) as agent:
        for ask in (agent.get_run_history("run_x"), agent.resume_run("run_x").result()):
            with pytest.raises(UserError) as caught:
                await ask
            check(caught.value, "run_not_found", "run_x")
