"""A run stopped anywhere goes on from its log alone, in another process, without doing anything twice."""

from collections import Counter

import pytest
from msgspec import structs

from agio import AgentRunConfig, ScriptedCall, ScriptedDriver, ScriptedTurn, tool
from agio.core.engine.runner import AgentRunner, RunStream
from agio.core.run.fold import Fold, fold_log
from agio.core.run.spec import AgentSpec, RunRequest
from agio.core.store.records import ClaimBy, Limits, SessionStart, Submission
from agio.core.store.repository import Append, NewRun, RunLog, ToolRecord, TurnRecord
from agio.core.tool import AnyTool
from agio.db.repository import Repository, open_store
from agio.execution.tool_executor import ToolExecutor
from agio.protocol.codec import encode
from agio.protocol.events import AgentEvent, seq_of
from agio.protocol.frames import Frame
from agio.protocol.messages import AssistantMessage, Message, UserMessage
from agio.telemetry.export.build import build_trace
from agio.telemetry.export.trace import ModelWork
from tests.support.official import OfficialVerifier, check_flow
from tests.support.scenes import person
from tests.support.streams import untimed

TURNS = (
    ScriptedTurn(
        "Adding twice.",
        "Two sums.",
        [ScriptedCall("add", {"a": 1, "b": 2}), ScriptedCall("add", {"a": 3, "b": 4})],
    ),
    ScriptedTurn(calls=[ScriptedCall("add", {"a": 3, "b": 7})]),
    ScriptedTurn("It is 10."),
)


class Stage:
    """A run's parts, with a model that knows its turns by what it is asked and a tool that counts."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self.done: list[tuple[int, int]] = []

        @tool(effect="idempotent")
        async def add(a: int, b: int) -> int:
            """Add."""
            self.done.append((a, b))
            return a + b

        self.tools: list[AnyTool] = [add]
        self.driver = ScriptedDriver(
            lambda request: TURNS[sum(m.id.startswith("msg_") for m in request.messages)]
        )

    def runner(self) -> AgentRunner:
        spec = AgentSpec("t", "Be brief.", "scripted", "scripted", config=AgentRunConfig(tool_concurrency=1))
        executor = ToolExecutor(self.tools, spec.config, self.repository)
        return AgentRunner(spec, self.driver, executor, self.repository)


def request(run_id: str) -> RunRequest:
    return RunRequest(
        session_id="thr_1", run_id=run_id, messages=[UserMessage(id="u1", content="Add")], mark="m" * 16
    )


async def whole_run() -> tuple[list[AgentEvent], list[TurnRecord], list[Message]]:
    repository = await open_store(":memory:")
    stage = Stage(repository)
    stream = stage.runner().run_stream(request("run_x"))
    events = [event async for event in stream]
    log = await repository.get_log("run_x")
    await repository.close()
    return events, log.turns, (await stream.result()).messages


async def copy_of(events: list[AgentEvent], turns: list[TurnRecord]) -> Repository:
    """Make a store in which the run stopped after these events and turns."""
    repository = await open_store(":memory:")
    await repository.create_run(NewRun("run_x", "thr_1", "t", "scripted:scripted", "m" * 16, title="Add"))
    payload = b"".join(encode(event) + b"\n" for event in events)
    await repository.append(Append(Frame("run_x", 1, 1, len(events), payload), turns))
    return repository


async def test_a_run_stopped_after_every_event_ends_the_same(official: OfficialVerifier) -> None:
    """L10: for every place a run can stop at, what another process makes of it has the same final messages."""
    events, turns, messages = await whole_run()
    for stop in range(1, len(events)):
        for with_record in (False, True):
            kept = events[:stop]
            known = [turn for turn in turns if turn.seq < stop or (with_record and turn.seq == stop)]
            repository = await copy_of(kept, known)
            stage = Stage(repository)
            before = fold_log(Fold(), await repository.get_log("run_x"))
            info = await repository.claim_run("run_x")
            assert info.epoch == 2
            log = await repository.get_log("run_x")
            stream = stage.runner().resume(log)
            more = [event async for event in stream]
            assert [seq_of(event) for event in more] == list(range(stop + 1, stop + 1 + len(more)))
            check_flow([*kept, *more], official)
            again = (await stream.result()).messages
            assert untimed(again) == untimed(messages), f"stopped after event {stop}"
            finished = {message.id for message in before.messages if message.id.startswith("res_")}
            assert len(stage.done) == 3 - len(finished), f"a finished tool ran again after event {stop}"
            stored = await repository.get_log("run_x")
            assert stored.payload == b"".join(encode(event) + b"\n" for event in [*kept, *more])
            check_trace(stored)
            await repository.close()


def check_trace(log: RunLog) -> None:
    """A run that was taken over is one trace: no id twice, each turn and call once, and nothing outside of it."""
    spans = build_trace(log, None).spans
    ids = {span.id for span in spans}
    assert len(ids) == len(spans)
    assert {span.parent for span in spans} <= {"", *ids}
    done = [type(span.work).__name__ for span in spans if span.error is None]
    assert Counter(done) == {"TaskWork": 1, "AgentWork": 1, "TurnWork": 3, "ModelWork": 3, "ToolWork": 3}
    lost = [span.work for span in spans if span.error is not None]
    assert all(isinstance(work, ModelWork) for work in lost)


async def branched() -> Repository:
    """Make a store with a session of two branches, and a claimed run that continues the older one."""
    store = await open_store(":memory:")
    who = await person(store)
    agent = await who.agent()
    start: SessionStart | None = SessionStart(agent_id=agent.id)
    for run_id, parent in (("run_a", None), ("run_b", ""), ("run_x", "run_a")):
        given = Submission(
            session_id="ses_1",
            run_id=run_id,
            start=start,
            messages=[UserMessage(id=f"said in {run_id}", content="Add")],
            parent_run_id=parent,
            claim=ClaimBy("w", b""),
        )
        accepted = await store.accept(who.tenant, who.user, given, Limits())
        assert accepted.claimed is not None
        start = None
        if run_id != "run_x":
            await (await on_its_path(store, run_id, ScriptedTurn(f"This is {run_id}.")))[1].result()
    return store


async def on_its_path(
    store: Repository, run_id: str, *turns: ScriptedTurn
) -> tuple[ScriptedDriver, RunStream]:
    """Resume a run with the history of its path, as a worker does."""
    stage, log = Stage(store), await store.get_log(run_id)
    history = Fold()
    for earlier in await store.history(log.info, 200):
        fold_log(history, earlier)
    before = len(history.messages) + 1
    stage.driver = ScriptedDriver(
        lambda request: turns[sum(isinstance(m, AssistantMessage) for m in request.messages[before:])]
    )
    return stage.driver, stage.runner().resume(log, history)


async def test_a_run_on_a_branch_stopped_after_every_event_ends_the_same(official: OfficialVerifier) -> None:
    """B3, L10: wherever it stopped, it has the history of its own path, and ends with the same messages."""
    store = await branched()
    driver, stream = await on_its_path(store, "run_x", *TURNS)
    events = await store.get_events("run_x") + [event async for event in stream]
    log, messages = await store.get_log("run_x"), (await stream.result()).messages
    await store.close()
    prompt = [m.content for m in driver.requests[0].messages if isinstance(m, UserMessage | AssistantMessage)]
    assert prompt == ["Add", "This is run_a.", "Add"]
    for stop in range(1, len(events)):
        store = await branched()
        payload = b"".join(encode(event) + b"\n" for event in events[1:stop])
        turns = [turn for turn in log.turns if turn.seq <= stop]
        await store.append(Append(Frame("run_x", 1, 2, stop - 1, payload), turns))
        await store.claim_run("run_x")
        driver, stream = await on_its_path(store, "run_x", *TURNS)
        more = [event async for event in stream]
        check_flow([*events[:stop], *more], official)
        assert untimed((await stream.result()).messages) == untimed(messages), f"stopped after event {stop}"
        assert all("run_b" not in str(request.messages) for request in driver.requests)
        await store.close()


async def test_a_call_with_effect_once_that_was_under_way_is_told_as_unknown(
    official: OfficialVerifier,
) -> None:
    """L10: it is never done twice: the model and the person learn that nobody knows."""
    events, turns, _ = await whole_run()
    first_turn_end = turns[0].seq
    repository = await copy_of(events[:first_turn_end], turns[:1])
    calls = fold_log(Fold(), await repository.get_log("run_x")).pending
    assert await repository.begin_tool("run_x", calls[0].id) is None
    assert await repository.begin_tool("run_x", calls[1].id) is None
    await repository.end_tool("run_x", calls[1].id, ToolRecord("7"))
    done: list[int] = []

    @tool
    async def add(a: int, b: int) -> int:
        """Add, with consequences."""
        done.append(a)
        return a + b

    stage = Stage(repository)
    stage.tools = [add]
    await repository.claim_run("run_x")
    stream = stage.runner().resume(await repository.get_log("run_x"))
    more = [event async for event in stream]
    check_flow([*events[:first_turn_end], *more], official)
    messages = (await stream.result()).messages
    results = [message for message in messages if message.id.startswith("res_")]
    assert "unknown" in str(results[0])
    assert "content='7'" in str(results[1])
    assert done == [3], "only the call of the next turn ran"
    await repository.close()


async def test_a_run_that_has_ended_is_not_resumed() -> None:
    """L10: resuming an ended run is the caller's mistake."""
    from agio import UserError

    repository = await open_store(":memory:")
    stage = Stage(repository)
    await stage.runner().run(request("run_x"))
    with pytest.raises(UserError) as caught:
        stage.runner().resume(await repository.get_log("run_x"))
    assert caught.value.code == "run_ended"
    await repository.close()


async def test_who_lost_the_claim_writes_no_more() -> None:
    """L9: after a claim by another, the first runner's appends are refused and its stream says so."""
    import asyncio

    from agio import StoreError

    repository = await open_store(":memory:")
    hold = asyncio.Event()
    stage = Stage(repository)
    stage.driver = ScriptedDriver([ScriptedTurn("Wait for it", waits=hold)])
    stream = stage.runner().run_stream(request("run_x"))
    seen = [await anext(stream) for _ in range(4)]
    await repository.claim_run("run_x")
    hold.set()

    async def read_on() -> None:
        async for event in stream:
            seen.append(event)

    with pytest.raises(StoreError) as caught:
        await read_on()
    assert caught.value.code == "stale_epoch"
    log: RunLog = await repository.get_log("run_x")
    assert log.info.last_seq == len(seen)
    await repository.close()


async def test_an_earlier_run_of_the_thread_is_part_of_what_is_resumed() -> None:
    """L10: the library's resume_run folds the thread before the run it goes on with."""
    from agio import Agent

    repository = await open_store(":memory:")
    driver = ScriptedDriver([ScriptedTurn("One."), ScriptedTurn("Two.")])
    agent = Agent("t", model=driver, store=repository)
    first = agent.arun_stream("first")
    await first.result()
    info = await repository.create_run(
        NewRun("run_zz", first.thread_id, "t", "scripted:scripted", "m" * 16, title="second")
    )
    started = (await repository.get_events(first.run_id))[0]
    fresh = structs.replace(started, run_id="run_zz", metadata={"run": "run_zz", "seq": 1})
    await repository.append(Append(Frame("run_zz", info.epoch, 1, 1, encode(fresh) + b"\n")))
    result = await agent.resume_run("run_zz").result()
    assert result.text == "Two."
    assert len(driver.requests[1].messages) == 3
    await repository.close()


async def test_a_goal_that_was_met_is_not_worked_on_again() -> None:
    """L10: the log stops after complete_goal's result: the run ends, the model is not asked."""
    from agio import Agent

    repository = await open_store(":memory:")
    done = ScriptedTurn(calls=[ScriptedCall("complete_goal", {"summary": "Done."})])
    agent = Agent("g", model=ScriptedDriver([done]), goal="Finish.", store=repository)
    run = agent.arun_stream("Go")
    events = [event async for event in run]
    turns = (await repository.get_log(run.run_id)).turns
    at = next(index for index, event in enumerate(events) if event.type == "TOOL_CALL_RESULT") + 1
    copy = await open_store(":memory:")
    await copy.create_run(NewRun(run.run_id, run.thread_id, "g", "scripted:scripted", "m" * 16))
    payload = b"".join(encode(event) + b"\n" for event in events[:at])
    await copy.append(Append(Frame(run.run_id, 1, 1, at, payload), turns))
    driver = ScriptedDriver([])
    result = await Agent("g", model=driver, goal="Finish.", store=copy).resume_run(run.run_id).result()
    assert (result.result, driver.requests) == ({"goal_met": True, "summary": "Done."}, [])
    await repository.close()
    await copy.close()


async def test_what_the_client_offered_is_not_forgotten() -> None:
    """L10: a resumed run has its client's tools and page context: RUN_STARTED tells them."""
    from agio import Agent, ContextEntry, ToolDeclaration

    repository = await open_store(":memory:")
    ask = ScriptedTurn(calls=[ScriptedCall("pick")])
    agent = Agent("c", model=ScriptedDriver([ask]), store=repository)
    offered = [ToolDeclaration("pick", "Let the user pick.", {"type": "object"})]
    page = [ContextEntry("page", "invoice 7")]
    run = agent.arun_stream("Go", tools=offered, context=page)
    events = [event async for event in run]
    copy = await open_store(":memory:")
    await copy.create_run(NewRun(run.run_id, run.thread_id, "c", "scripted:scripted", "m" * 16))
    await copy.append(Append(Frame(run.run_id, 1, 1, 1, encode(events[0]) + b"\n")))
    driver = ScriptedDriver([ask])
    result = await Agent("c", model=driver, store=copy).resume_run(run.run_id).result()
    assert len(result.pending_tool_call_ids) == 1
    assert "invoice 7" in str(driver.requests[0].messages)
    await repository.close()
    await copy.close()
