"""Claims: which run is next, who may write, and when a run is given up, alike on every store."""

import asyncio

import pytest

from agio.core.store.records import ClaimBy, Claimed, Limits
from agio.core.store.repository import Append
from agio.core.store.store import Store
from agio.errors import StoreError, UserError
from agio.protocol.codec import decode_lines
from agio.protocol.events import RunStarted
from tests.support.backends import Backend, turn
from tests.support.scenes import (
    LIMITS,
    WORKER,
    Person,
    agent_fields,
    answer,
    claim,
    end,
    events,
    interrupt,
    nothing_to_claim,
    person,
)

OTHER = ClaimBy("worker-2", b"token-2")


async def test_a_claim_begins_the_run(store: Store) -> None:
    """R4: the claim has a new epoch, worker and token, and RUN_STARTED is in the log."""
    who = await person(store)
    sent = await who.send(await who.session())
    claimed = await claim(store)
    info = claimed.info
    assert (info.run_id, info.status, info.epoch) == (sent.run_id, "running", 1)
    assert (info.worker, info.token_hash, info.started_at is not None) == ("worker-1", b"token-1", True)
    assert claimed.must_end is None
    assert await store.get_run(info.run_id) == info
    assert [type(event) for event in await store.get_events(info.run_id)] == [RunStarted]
    [message] = (await store.list_messages("default", "local", info.session_id)).items
    assert message.pos == 1
    assert await nothing_to_claim(store)


async def test_a_session_has_one_running_run(store: Store) -> None:
    """R6: its runs are claimed in order, the next when the one before has ended."""
    who = await person(store)
    session = await who.session()
    runs = [(await who.send(session)).run_id for _ in range(3)]
    for run_id in runs:
        claimed = await claim(store)
        assert claimed.info.run_id == run_id
        assert await nothing_to_claim(store)
        await answer(store, claimed)


async def test_claims_at_once_take_each_run_once(store: Store) -> None:
    """B1: ten claimers share five sessions of two runs without meeting."""
    who = await person(store)
    limits = Limits(running_per_user=100)
    for session in [await who.session() for _ in range(5)]:
        for _ in range(2):
            await who.send(session, limits=limits)
    claimed = await asyncio.gather(*(store.claim_next(WORKER, limits) for _ in range(10)))
    taken = [one.info for one in claimed if one is not None]
    assert len(taken) == len({info.run_id for info in taken}) == len({info.session_id for info in taken}) == 5


async def test_tenants_take_turns(store: Store) -> None:
    """R4: the tenant after the last one goes first, whoever came first."""
    people = [await person(store, tenant) for tenant in ("b", "c", "a")]
    for who in people:
        for _ in range(2):
            await who.send(await who.session())
    order: list[str] = []
    after = ""
    while (claimed := await store.claim_next(WORKER, LIMITS, after_tenant=after)) is not None:
        after = claimed.info.tenant
        order.append(after)
    assert order == ["a", "b", "c", "a", "b", "c"]
    await people[0].send(await people[0].session())
    again = await store.claim_next(WORKER, LIMITS, after_tenant="b")
    assert again is not None
    assert again.info.tenant == "b"


async def test_a_tenant_at_its_limit_is_passed_over(store: Store) -> None:
    """C6: others go on while one has all its runs running."""
    limits = Limits(running_per_tenant=1)
    busy, other = await person(store, "a"), await person(store, "b")
    for _ in range(2):
        await busy.send(await busy.session())
    await other.send(await other.session())
    first = await store.claim_next(WORKER, limits)
    second = await store.claim_next(WORKER, limits)
    assert [one and one.info.tenant for one in (first, second)] == ["a", "b"]
    assert await nothing_to_claim(store, limits)
    assert first is not None
    await answer(store, first)
    third = await store.claim_next(WORKER, limits, after_tenant="b")
    assert third is not None
    assert third.info.tenant == "a"


async def test_agents_in_code_run_where_their_code_is(store: Store) -> None:
    """R4: a run of an agent that a module defines is claimed for a worker that has it."""
    who = await person(store)
    [agent] = await store.put_code_agents("default", [agent_fields("mine")])
    session = await who.session(agent)
    sent = await who.send(session, claim=WORKER)
    assert sent.claimed is None
    assert await nothing_to_claim(store)
    assert (await claim(store, code_agents=["other", "mine"])).info.run_id == sent.run_id
    at_once = await who.send(await who.session(agent), claim=WORKER, code_agents=["mine"])
    assert at_once.claimed is not None


async def test_a_queued_run_that_was_cancelled_must_end_when_its_turn_comes(store: Store) -> None:
    """L14: it is claimed to be ended, in its place among the session's runs."""
    who = await person(store)
    session = await who.session()
    await who.send(session, claim=WORKER)
    queued = (await who.send(session)).run_id
    flagged = await store.request_cancel("default", "local", run_id=queued)
    assert [(info.run_id, info.status, info.cancel_requested) for info in flagged] == [
        (queued, "queued", True)
    ]
    assert await nothing_to_claim(store)
    [first] = [info for info in await store.running_runs() if info.session_id == session.id]
    await store.append(Append(events(first.run_id, 1, 2, 1), (), "completed"))
    claimed = await claim(store)
    assert (claimed.info.run_id, claimed.must_end, claimed.info.first_pos) == (queued, "cancelled", 2)
    await end(store, claimed, "cancelled")
    assert (await store.get_run(queued)).status == "cancelled"


async def test_a_run_that_waited_too_long_must_end(store: Store) -> None:
    """C6: it is claimed to be ended as expired, also if nobody has its agent's code."""
    who = await person(store)
    [agent] = await store.put_code_agents("default", [agent_fields("mine")])
    sent = await who.send(await who.session(agent))
    created_at = (await store.get_run(sent.run_id)).created_at
    assert await nothing_to_claim(store)
    claimed = await claim(store, queued_before=created_at + 1)
    assert claimed.must_end == "expired"
    await end(store, claimed, "expired")
    assert (await store.get_run(sent.run_id)).status == "expired"


async def test_a_cancel_flags_all_that_has_not_ended(store: Store) -> None:
    """L14: of a session or of a run; what has ended stays as it is."""
    who = await person(store)
    session = await who.session()
    await who.send(session)
    await answer(store, await claim(store))
    ended = (await who.session_now(session)).last_run_id or ""
    running = (await who.send(session, claim=WORKER)).run_id
    queued = (await who.send(session)).run_id
    flagged = await store.request_cancel("default", "local", session_id=session.id)
    assert {(info.run_id, info.status) for info in flagged} == {(running, "running"), (queued, "queued")}
    assert await store.request_cancel("default", "local", run_id=ended) == []
    assert not (await store.get_run(ended)).cancel_requested
    assert (await store.get_run(running)).cancel_requested
    again = await store.request_cancel("default", "local", run_id=running)
    assert [info.run_id for info in again] == [running]


async def test_a_taken_over_run_is_fenced(store: Store) -> None:
    """R6: the next claim has the next epoch; whoever had the run is refused."""
    who = await person(store)
    first = await who.send(await who.session(), claim=WORKER)
    assert first.claimed is not None
    run_id = first.run_id
    await store.append(Append(events(run_id, 1, 2, 2)))
    taken = await store.reclaim(run_id, 1, OTHER)
    assert taken is not None
    assert (taken.info.epoch, taken.info.last_seq, taken.info.worker) == (2, 3, "worker-2")
    assert (taken.info.token_hash, taken.started, taken.must_end) == (b"token-2", b"", None)
    with pytest.raises(StoreError, match="stale_epoch"):
        await store.append(Append(events(run_id, 1, 4, 1)))
    with pytest.raises(StoreError, match="stale_epoch"):
        await store.begin_tool(run_id, "k", epoch=1)
    assert await store.begin_tool(run_id, "k", tool="pay", effect="read", epoch=2) is None
    await store.append(Append(events(run_id, 2, 4, 1)))
    assert await store.reclaim(run_id, 1, OTHER) is None
    await end(store, taken, after=4)
    assert await store.reclaim(run_id, 2, OTHER) is None
    assert await store.reclaim("nobody", 1, OTHER) is None


async def test_takeovers_at_once_have_one_winner(store: Store) -> None:
    """B1: a run that is taken over by many at once is one's."""
    who = await person(store)
    sent = await who.send(await who.session(), claim=WORKER)
    taken = await asyncio.gather(*(store.reclaim(sent.run_id, 1, OTHER) for _ in range(20)))
    assert [one.info.epoch for one in taken if one is not None] == [2]


async def test_three_claims_without_a_finished_turn_are_a_crash_loop(store: Store) -> None:
    """B1: a run that kills its workers is given up; a finished turn starts the count again."""
    who = await person(store)
    sent = await who.send(await who.session(), claim=WORKER)
    run_id = sent.run_id
    reasons = [await _must_end(store, run_id, epoch) for epoch in (1, 2)]
    await store.append(Append(events(run_id, 3, 2, 1), [turn(run_id, 1, 2)]))
    reasons += [await _must_end(store, run_id, epoch) for epoch in (3, 4, 5, 6)]
    assert reasons == [None, None, None, None, None, "crash_loop"]


async def test_a_run_that_is_given_back_has_not_failed(store: Store) -> None:
    """B1: workers that leave in good order do not add up to a crash loop."""
    who = await person(store)
    sent = await who.send(await who.session(), claim=WORKER)
    for epoch in range(1, 6):
        taken = await store.reclaim(sent.run_id, epoch, OTHER, given_back=True)
        assert taken is not None
        assert taken.must_end is None


async def test_a_cancelled_run_must_end_when_it_is_taken_over(store: Store) -> None:
    """L14: nobody goes on with a run whose cancellation was asked for."""
    who = await person(store)
    sent = await who.send(await who.session(), claim=WORKER)
    await store.request_cancel("default", "local", run_id=sent.run_id)
    assert await _must_end(store, sent.run_id, 1) == "cancelled"


async def test_an_end_counts_also_if_a_cancel_came_before_it(store: Store) -> None:
    """R6: the first commit that ends a run says how it ended."""
    who = await person(store)
    sent = await who.send(await who.session(), claim=WORKER)
    assert sent.claimed is not None
    await store.request_cancel("default", "local", run_id=sent.run_id)
    await end(store, sent.claimed)
    assert (await store.get_run(sent.run_id)).status == "completed"
    with pytest.raises(StoreError, match="run_ended"):
        await end(store, sent.claimed, "cancelled", after=2)


async def test_an_open_question_holds_the_queue(store: Store) -> None:
    """B7: what was queued waits until the question is answered or cancelled."""
    who = await person(store)
    session = await who.session()
    await who.send(session)
    first = await claim(store)
    queued = (await who.send(session)).run_id
    await interrupt(store, first, "int_1")
    assert await nothing_to_claim(store)
    assert await store.expire_interrupts() == 0
    sent = await who.send(session)
    assert [(await claim(store)).info.run_id] == [queued]
    assert (await store.get_run(sent.run_id)).status == "queued"


async def test_running_runs_of_every_tenant_are_told_after_a_start(backend: Backend) -> None:
    """B1: what was running when a process died is found with its worker, and claimed again."""
    store = await backend.open()
    people = [await person(store, tenant) for tenant in ("b", "a")]
    runs = [await _running(who) for who in people]
    await store.append(Append(events(runs[0].info.run_id, 1, 2, 5)))
    queued = (await people[0].send(runs[0].session_id)).run_id
    crashed = await backend.open_after_crash()
    found = await crashed.running_runs()
    assert [(info.run_id, info.worker, info.last_seq) for info in found] == [
        (runs[0].info.run_id, "worker-1", 6),
        (runs[1].info.run_id, "worker-1", 1),
    ]
    assert await crashed.count_runs() == {"queued": 1, "running": 2}
    taken = await crashed.reclaim(runs[0].info.run_id, 1, OTHER)
    assert taken is not None
    await end(crashed, taken)
    following = await claim(crashed)
    assert (following.info.run_id, following.info.first_pos) == (queued, 7)
    assert decode_lines(following.started)
    await crashed.close()
    await store.close()


async def test_a_run_of_somebody_else_is_not_flagged(store: Store) -> None:
    """L14: a cancel of a run that is not there, or not one's own, is refused."""
    with pytest.raises(UserError, match="run_not_found"):
        await store.request_cancel("default", "local", run_id="nobody")
    with pytest.raises(UserError, match="session_not_found"):
        await store.request_cancel("default", "local", session_id="nobody")


async def _must_end(store: Store, run_id: str, epoch: int) -> str | None:
    taken = await store.reclaim(run_id, epoch, WORKER)
    assert taken is not None
    return taken.must_end


async def _running(who: Person) -> Claimed:
    sent = await who.send(await who.session(), claim=WORKER)
    assert sent.claimed is not None
    return sent.claimed


async def test_a_run_that_was_given_back_before_a_stop_has_not_failed(store: Store) -> None:
    """B1: what the store noted counts at the next start, however often the server stops in good order."""
    who = await person(store)
    session = await who.session()
    await who.send(session, "Hi")
    claimed = await claim(store)
    for epoch in range(claimed.info.epoch, claimed.info.epoch + 5):
        await store.give_back(claimed.info.run_id, epoch)
        again = await store.reclaim(claimed.info.run_id, epoch, WORKER)
        assert again is not None
        assert again.must_end is None


async def test_a_queued_run_without_its_input_is_claimed_to_be_ended(store: Store) -> None:
    """B1: such as one that was ended as queued: it comes back doomed, and does not hold up the next."""
    who = await person(store)
    await who.send(await who.session())
    spoilt = await claim(store)
    await store.append(Append(events(spoilt.info.run_id, 1, 2, 1), end="queued"))
    sent = await who.send(await who.session())
    again = await claim(store)
    assert (again.info.run_id, again.info.epoch, again.info.last_seq) == (spoilt.info.run_id, 2, 2)
    assert (again.must_end, again.started) == ("unreadable", b"")
    assert (await claim(store)).info.run_id == sent.run_id
    await answer(store, again)
    assert (await store.get_run(spoilt.info.run_id)).status == "completed"
