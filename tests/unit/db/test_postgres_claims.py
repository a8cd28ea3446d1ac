"""Several gateways on one database: runs are claimed once, limits hold, tools begin once."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence

import pytest

from agio.core.store.records import ClaimBy, Claimed, Limits
from agio.core.store.repository import Append
from agio.core.store.store import Store
from agio.db.postgres.executor import open_postgres
from agio.db.repository import Repository
from agio.errors import LimitExceeded, StoreError
from tests.support.backends import new_run
from tests.support.scenes import Person, agent_fields, end, events, person

WIDE = Limits(running_per_user=1000, running_per_tenant=1000, queued_per_user=1000)


@pytest.fixture
async def stores(postgres_url: str) -> AsyncIterator[list[Store]]:
    """Three stores on one database, as three gateways have them."""
    opened: list[Store] = [Repository(await open_postgres(postgres_url)) for _ in range(3)]
    yield opened
    await asyncio.gather(*(store.close() for store in opened))


async def test_gateways_that_claim_at_once_never_claim_the_same_run(stores: list[Store]) -> None:
    """S10: every queued run is claimed exactly once, and those of a session one after the other."""
    sent = await _send(stores, sessions=8, messages=3)
    claimed: list[Claimed] = []

    async def work(store: Store, name: str) -> None:
        while len(claimed) < len(sent):
            run = await store.claim_next(ClaimBy(name, name.encode()), WIDE)
            if run is None:
                await asyncio.sleep(0)
                continue
            claimed.append(run)
            await end(store, run)

    async with asyncio.timeout(60):
        await asyncio.gather(
            *(work(store, f"worker-{n}-{m}") for n, store in enumerate(stores) for m in range(2))
        )
    assert sorted(run.info.run_id for run in claimed) == sorted(sent)
    for session_id, count in Counter(run.session_id for run in claimed).items():
        assert count == 3
        infos = sorted(
            (run.info for run in claimed if run.session_id == session_id), key=lambda i: i.first_pos
        )
        assert [info.first_pos for info in infos] == [0, 2, 4]


async def test_a_tenants_limit_holds_over_all_gateways(stores: list[Store]) -> None:
    """C9: with room for three, many claims at once get three."""
    await _send(stores, sessions=10, messages=1)
    limits = Limits(running_per_user=1000, running_per_tenant=3)
    found = await asyncio.gather(
        *(store.claim_next(ClaimBy("w", b""), limits) for store in stores for _ in range(4))
    )
    assert len([run for run in found if run is not None]) == 3
    assert await stores[0].count_runs() == {"queued": 7, "running": 3}


async def test_a_users_limit_holds_over_all_gateways(stores: list[Store]) -> None:
    """C9: messages to many sessions at once are refused beyond the limit."""
    who = await person(stores[0])
    sessions = [await who.session() for _ in range(9)]
    outcomes = await asyncio.gather(
        *(
            Person(store).send(session, limits=Limits(running_per_user=3))
            for store, session in zip(stores * 3, sessions, strict=True)
        ),
        return_exceptions=True,
    )
    refused = [error for error in outcomes if isinstance(error, LimitExceeded)]
    assert [error.code for error in refused] == ["too_many_sessions"] * 6


async def test_the_same_message_at_two_gateways_is_one_run(stores: list[Store]) -> None:
    """R3: an idempotency key holds whichever gateways the repeats come to."""
    session = await (await person(stores[0])).session()
    accepted = await asyncio.gather(
        *(Person(store).send(session, key="once", digest=b"1") for store in stores * 2)
    )
    assert len({one.run_id for one in accepted}) == 1
    assert sorted(one.repeated for one in accepted) == [False] + [True] * 5


async def test_a_message_is_claimed_by_its_gateway_or_by_another_but_once(stores: list[Store]) -> None:
    """S10: accepting with a claim and claiming at another gateway do not both get the run."""
    who = await person(stores[0])
    agent = await who.agent()
    for _ in range(10):
        session = await who.session(agent)
        accepted, first, second = await asyncio.gather(
            who.send(session, claim=ClaimBy("mine", b"m"), limits=WIDE),
            stores[1].claim_next(ClaimBy("other", b"o"), WIDE),
            stores[2].claim_next(ClaimBy("other", b"o"), WIDE),
        )
        runs = [run for run in (accepted.claimed, first, second) if run is not None]
        assert [run.info.run_id for run in runs] == [accepted.run_id]
        await end(stores[0], runs[0])


async def test_a_run_is_taken_over_by_one_gateway(stores: list[Store]) -> None:
    """B1: of many that reclaim a lost run one gets it, and whoever had it is fenced off at every gateway."""
    await _send(stores, sessions=1, messages=1)
    lost = await stores[0].claim_next(ClaimBy("lost", b""), WIDE)
    assert lost is not None
    run_id = lost.info.run_id
    found = await asyncio.gather(*(store.reclaim(run_id, 1, ClaimBy("w", b"")) for store in stores * 2))
    assert [run.info.epoch for run in found if run is not None] == [2]
    for store in stores:
        with pytest.raises(StoreError, match="stale_epoch"):
            await store.append(Append(events(run_id, 1, 2, 1)))
    await stores[2].append(Append(events(run_id, 2, 2, 1)))


async def test_of_begins_at_several_gateways_one_goes_ahead(stores: list[Store]) -> None:
    """B1: a call that must happen once begins once, also when its run was taken over in between."""
    await stores[0].create_run(new_run("r1"))
    for key in ("1.0", "1.1", "1.2"):
        records = await asyncio.gather(*(store.begin_tool("r1", key) for store in stores * 3))
        assert [record for record in records if record is None] == [None]


async def test_gateways_that_start_at_once_define_the_same_agents(stores: list[Store]) -> None:
    """C2: the agents of a module are put in place by all gateways together without a conflict."""
    fields = [agent_fields(f"coded {number}") for number in range(4)]
    put = await asyncio.gather(*(store.put_code_agents("default", fields) for store in stores * 2))
    assert len({tuple(agent.id for agent in agents) for agents in put}) == 1


async def test_sessions_end_and_begin_at_once_without_waiting_for_each_other(stores: list[Store]) -> None:
    """S10: ends, messages, cancels and claims of the same sessions at several gateways all come through."""
    who = await person(stores[0])
    sessions = [await who.session() for _ in range(4)]

    async def talk(store: Store, number: int) -> None:
        me = Person(store)
        for turn in range(5):
            session = sessions[(number + turn) % len(sessions)]
            await me.send(session, on_busy="interrupt" if turn % 2 else "queue", limits=WIDE)
            run = await store.claim_next(ClaimBy("w", b""), WIDE)
            await store.request_cancel("default", "local", session_id=session.id)
            if run is not None:
                await end(store, run)

    async with asyncio.timeout(60):
        await asyncio.gather(*(talk(store, number) for number, store in enumerate(stores * 2)))
        while (run := await stores[0].claim_next(ClaimBy("w", b""), WIDE)) is not None:
            await end(stores[0], run)
    assert await stores[0].count_runs() == {"queued": 0, "running": 0}


async def _send(stores: Sequence[Store], *, sessions: int, messages: int) -> list[str]:
    """Queue messages in new sessions; returns the runs."""
    who = await person(stores[0])
    agent = await who.agent()
    sent: list[str] = []
    for _ in range(sessions):
        session = await who.session(agent)
        for _ in range(messages):
            sent.append((await who.send(session, limits=WIDE)).run_id)
    return sent
