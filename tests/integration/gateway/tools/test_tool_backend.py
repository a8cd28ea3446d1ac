"""Tools that run at the gateway: in scope, once, and their results kept."""

import asyncio
from pathlib import Path

import pytest

from agio.core.config import ServerLimits
from agio.core.link.link import ToolOffer, ToolReply
from agio.core.store.records import AgentTool
from agio.core.store.repository import ToolRecord
from agio.core.tool import ToolContext, tool
from agio.errors import StoreError, ToolError
from agio.protocol.messages import ResumeEntry
from agio.tools.echo_context import echo_context
from tests.integration.gateway.open_calls import end_with_question
from tests.support.engine import ANN, Engine, Hand, HandWorker, engine, soon


class Bench:
    """Tools whose every call a test can count and hold up."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()
        self.go_on.set()

        async def act(context: ToolContext) -> str:
            self.calls.append(context.call_id)
            self.begun.set()
            await self.go_on.wait()
            return f"done {len(self.calls)}"

        self.pay = tool(name="pay", description="Pay.")(act)
        self.put = tool(name="put", description="Put.", effect="idempotent")(act)
        self.look = tool(name="look", description="Look.", effect="read")(act)
        self.tools = {entry.name: entry for entry in (self.pay, self.put, self.look)}


NAMES = [AgentTool("pay"), AgentTool("put"), AgentTool("look")]


async def start(room: Engine) -> tuple[Hand, HandWorker]:
    """Let a worker come, and give it the run of a new session."""
    session = await room.session(tools=NAMES)
    worker, link, _ = await room.join()
    await room.say(session)
    return Hand(link, await worker.next_job()), worker


async def test_a_tool_knows_its_call_from_the_server_alone() -> None:
    """R7: tenant, user, session, run and agent come from the run's row."""
    async with engine(tools={"echo_context": echo_context}) as room:
        session = await room.session(tools=[AgentTool("echo_context")])
        worker, link, _ = await room.join()
        accepted = await room.say(session)
        hand = Hand(link, await worker.next_job())
        key = await hand.ask("echo_context", effect="read")
        reply = await soon(link.call_tool(hand.claim, key, "echo_context", {}))
        assert reply.error is None
        for known in ("default", "ann", session.id, accepted.run_id, session.agent_name):
            assert f'"{known}"' in str(reply.content)


async def test_a_call_that_began_with_its_turn_is_done_and_recorded() -> None:
    """R7: the result is in the store before it is answered, and a repeat gets the same."""
    bench = Bench()
    async with engine(tools=bench.tools) as room:
        hand, _ = await start(room)
        key = await hand.ask("pay")
        first = await soon(hand.link.call_tool(hand.claim, key, "pay", {}))
        assert first == ToolReply("done 1")
        (record,) = (await room.store.list_tool_executions("default", "ann", hand.run_id)).items
        assert (record.tool, record.effect, record.state) == ("pay", "once", "finished")
        assert await soon(hand.link.call_tool(hand.claim, key, "pay", {})) == first
        assert bench.calls == [key]


async def test_a_repeat_waits_for_whoever_does_it() -> None:
    """B1: also under the next claim, when the first asker is long gone."""
    bench = Bench()
    bench.go_on.clear()
    async with engine(tools=bench.tools) as room:
        hand, worker = await start(room)
        key = await hand.ask("pay")
        first = asyncio.ensure_future(hand.link.call_tool(hand.claim, key, "pay", {}))
        await soon(bench.begun.wait())
        first.cancel()
        await hand.link.release(hand.claim)
        heir = Hand(hand.link, await worker.next_job())
        again = [asyncio.ensure_future(hand.link.call_tool(heir.claim, key, "pay", {})) for _ in range(2)]
        bench.go_on.set()
        assert [await soon(reply) for reply in again] == [ToolReply("done 1")] * 2
        assert bench.calls == [key]


@pytest.mark.parametrize(("name", "content"), [("pay", "unknown"), ("put", "done 2"), ("look", "done 2")])
async def test_a_call_cut_off_by_a_crash_is_done_again_only_if_that_does_no_harm(
    tmp_path: Path, name: str, content: str
) -> None:
    """B1: `once` becomes unknown, `read` and `idempotent` are done again with the same key."""
    bench = Bench()
    bench.go_on.clear()
    path = tmp_path / "agio.db"
    async with engine(tools=bench.tools, path=path) as room:
        hand, _ = await start(room)
        key = await hand.ask(name, effect=bench.tools[name].effect)
        asked = asyncio.ensure_future(hand.link.call_tool(hand.claim, key, name, {}))
        await soon(bench.begun.wait())
    with pytest.raises(StoreError, match="link_lost"):
        await soon(asked)
    bench.go_on.set()
    async with engine(tools=bench.tools, path=path) as room:
        worker, link, _ = await room.join()
        heir = Hand(link, await worker.next_job())
        reply = await soon(link.call_tool(heir.claim, key, name, {}))
        assert content in (reply.error or reply.content)
        assert set(bench.calls) == {key}
        assert len(bench.calls) == (1 if name == "pay" else 2)


async def test_a_begin_that_was_committed_twice_still_lets_a_call_happen_once() -> None:
    """B1: a worker that repeats its append and its call does not act twice."""
    bench = Bench()
    async with engine(tools=bench.tools) as room:
        hand, _ = await start(room)
        key = await hand.ask("pay")
        held = room.pool.runs[hand.run_id]
        assert held.begun == {key}
        await soon(hand.link.call_tool(hand.claim, key, "pay", {}))
        held.begun.add(key)
        assert await soon(hand.link.call_tool(hand.claim, key, "pay", {})) == ToolReply("done 1")
        assert bench.calls == [key]


async def test_a_call_that_did_not_begin_with_an_append_is_recorded_before_it_acts() -> None:
    """B1: so that after a crash it is known that it may have acted."""
    bench = Bench()
    bench.go_on.clear()
    async with engine(tools=bench.tools) as room:
        hand, _ = await start(room)
        key = f"call_{hand.run_id.removeprefix('run_')}_1_0"
        asked = asyncio.ensure_future(hand.link.call_tool(hand.claim, key, "pay", {}))
        await soon(bench.begun.wait())
        (record,) = (await room.store.list_tool_executions("default", "ann", hand.run_id)).items
        assert (record.key, record.state, record.effect) == (key, "started", "once")
        bench.go_on.set()
        assert (await soon(asked)).content == "done 1"


async def test_what_is_out_of_scope_is_refused() -> None:
    """R7, R9: tools the agent does not have, calls of other sessions, claims that are over."""
    bench = Bench()
    async with engine(tools={**bench.tools, "echo_context": echo_context}) as room:
        hand, worker = await start(room)
        key = await hand.ask("pay")

        async def refusal(key: str, name: str) -> str:
            with pytest.raises(ToolError) as refused:
                await soon(hand.link.call_tool(hand.claim, key, name, {}))
            return refused.value.code

        assert await refusal(key, "echo_context") == "tool_not_allowed"
        assert await refusal(key, "nothing") == "tool_not_allowed"
        assert await refusal("call_elsewhere_1_0", "pay") == "tool_not_allowed"
        await room.say(await room.session(tools=NAMES))
        stranger = Hand(hand.link, await worker.next_job())
        assert await refusal(await stranger.ask("pay"), "pay") == "tool_not_allowed"
        await hand.link.release(hand.claim)
        with pytest.raises(StoreError, match="stale_epoch"):
            await soon(hand.link.call_tool(hand.claim, key, "pay", {}))
        assert bench.calls == []


async def test_arguments_that_do_not_fit_are_told_to_the_model() -> None:
    """L13: it may mend them."""
    bench = Bench()
    async with engine(tools=bench.tools) as room:
        hand, _ = await start(room)
        key = await hand.ask("pay")
        reply = await soon(hand.link.call_tool(hand.claim, key, "pay", {"sum": 3}))
        assert reply.error == "bad_arguments"
        assert bench.calls == []


async def test_no_tool_starts_after_a_cancel_and_those_that_run_are_told() -> None:
    """L14: whether the gateway's or the worker's own."""
    bench = Bench()
    bench.go_on.clear()
    offer = ToolOffer(name="own", description="", parameters={"type": "object"}, kind="module")
    async with engine(ServerLimits(), tools=bench.tools) as room:
        session = await room.session(tools=[*NAMES, AgentTool("own")])
        worker, link, _ = await room.join(tools=[offer])
        accepted = await room.say(session)
        hand = Hand(link, await worker.next_job())
        key = await hand.ask("look", effect="read")
        asked = asyncio.ensure_future(link.call_tool(hand.claim, key, "look", {}))
        await soon(bench.begun.wait())
        await room.intake.cancel(ANN, run_id=accepted.run_id)
        assert (await soon(asked)).error == "cancelled"
        reply = await soon(link.call_tool(hand.claim, key[:-1] + "1", "pay", {}))
        assert reply.error == "cancelled"
        own = await soon(link.begin_tool(hand.claim, key[:-1] + "2", "own", "once"))
        assert own is not None
        assert own.error == "cancelled"
        assert bench.calls == [key]


async def test_a_worker_records_its_own_tools_at_the_gateway() -> None:
    """R7: begun, ended, and known to the next claim; the effect is the offer's, not what the worker says."""
    bench = Bench()
    offer = ToolOffer(name="own", description="", parameters={"type": "object"}, kind="module")
    async with engine(tools=bench.tools) as room:
        session = await room.session(tools=[*NAMES, AgentTool("own")])
        worker, link, _ = await room.join(tools=[offer])
        await room.say(session)
        hand = Hand(link, await worker.next_job())
        key = f"call_{hand.run_id.removeprefix('run_')}_1_0"
        assert await soon(link.begin_tool(hand.claim, key, "own", "read")) is None
        (record,) = (await room.store.list_tool_executions("default", "ann", hand.run_id)).items
        assert record.effect == "once"
        await soon(link.end_tool(hand.claim, key, ToolRecord("Done.")))
        await link.release(hand.claim)
        heir = Hand(link, await worker.next_job())
        known = await soon(link.begin_tool(heir.claim, key, "own", "once"))
        assert known == ToolRecord("Done.")
        with pytest.raises(ToolError, match="tool_not_allowed"):
            await soon(link.begin_tool(heir.claim, key, "pay", "once"))
        with pytest.raises(ToolError, match="tool_not_allowed"):
            await soon(link.end_tool(heir.claim, "call_elsewhere_1_0", ToolRecord("Done.")))


async def test_a_tool_that_fails_for_good_ends_the_run_and_is_recorded() -> None:
    """R9: a refusal of our own endpoint is an error of the run, not of the model."""

    @tool
    def refuse() -> str:
        """Refuse."""
        raise ToolError("forbidden", "You may not do this.")

    async with engine(tools={"refuse": refuse}) as room:
        session = await room.session(tools=[AgentTool("refuse")])
        worker, link, _ = await room.join()
        await room.say(session)
        hand = Hand(link, await worker.next_job())
        key = await hand.ask("refuse")
        with pytest.raises(ToolError, match="forbidden"):
            await soon(link.call_tool(hand.claim, key, "refuse", {}))
        (record,) = (await room.store.list_tool_executions("default", "ann", hand.run_id)).items
        assert (record.state, record.error) == ("finished", "forbidden")


async def test_a_call_nobody_approved_does_not_run_whatever_the_worker_says() -> None:
    """B7, R7: the gateway looks for the approval itself."""
    bench = Bench()
    async with engine(tools=bench.tools) as room:
        session = await room.session(tools=[AgentTool("pay", "ask")])
        worker, link, _ = await room.join()
        await room.say(session)
        hand = Hand(link, await worker.next_job())
        key = await hand.ask("pay")
        with pytest.raises(ToolError) as refused:
            await soon(link.call_tool(hand.claim, key, "pay", {}))
        assert refused.value.code == "tool_not_allowed"
        assert bench.calls == []


async def test_an_approval_is_for_the_tool_that_was_asked_about() -> None:
    """B7, R7: the same call and arguments under another tool's name are not what the person saw."""
    bench = Bench()

    @tool
    def send_mail(to: str) -> str:
        """Mail."""
        return f"mailed {to}"

    @tool
    def erase(to: str) -> str:
        """Erase."""
        bench.calls.append(to)
        return "gone"

    async with engine(tools={"send_mail": send_mail, "erase": erase}) as room:
        session = await room.session(tools=[AgentTool("send_mail", "ask"), AgentTool("erase", "ask")])
        worker, link, _ = await room.join()
        await room.say(session)
        asking = Hand(link, await worker.next_job())
        question = await end_with_question(asking)
        await room.say(session, "", resume=[ResumeEntry(question, "resolved", {"approved": True})])
        heir = Hand(link, await worker.next_job())
        [asked] = await room.store.list_interrupts("default", "ann", session.id)
        with pytest.raises(ToolError, match="tool_not_allowed"):
            await soon(link.call_tool(heir.claim, asked.tool_call_id, "erase", {"to": "bob"}))
        assert bench.calls == []
        allowed = await soon(link.call_tool(heir.claim, asked.tool_call_id, "send_mail", {"to": "bob"}))
        assert allowed == ToolReply("mailed bob")
