"""Two gateways in this process, on one database and a bus in memory, with workers that a test plays."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import msgspec
import pytest
from msgspec import structs

from agio.bus.bus import INLINE_BYTES, Bus
from agio.bus.memory import MemoryBus
from agio.bus.signals import Answered, Asked, Beat, Signal
from agio.core.config import AgentRunConfig
from agio.core.identity.principal import Principal
from agio.core.link.link import Greeting, Task, TaskResult
from agio.core.model import Usage
from agio.core.provider import ModelEndpoint
from agio.core.store.records import AgentFields, AgentTool, EventSlice
from agio.core.tool import AnyTool, tool
from agio.db.postgres.executor import open_postgres
from agio.db.repository import Repository
from agio.egress import Egress
from agio.errors import LimitExceeded, ModelError, UserError
from agio.gateway.auth.oidc import OidcProviders
from agio.gateway.workers.connected_worker import OPERATOR
from agio.gateway.workers.link import WorkerLink
from agio.gateway.workers.recall import Recall
from agio.server.composition import GatewayConfig, Resources, make_gateway
from agio.vault import Vault
from tests.support.backends import PostgresDatabase
from tests.support.clock import until
from tests.support.engine import PRICES, QUICK, Engine, Hand, HandWorker, soon

LIMITS = structs.replace(QUICK, running_per_tenant=1000, running_per_user=1000, messages_per_minute=10_000)


class Site(Engine):
    """An engine that shares its database."""

    def __init__(self, store: Repository, url: str, bus: Bus, tools: dict[str, AnyTool]) -> None:
        resources = Resources(
            store=store,
            egress=Egress(),
            vault=Vault([b"k" * 32]),
            oidc=OidcProviders(),
            recall=Recall(store),
            bus=bus,
        )
        config = AgentRunConfig(cancel_grace_s=0.01, prices=PRICES)
        plan = GatewayConfig(database=url, limits=LIMITS)
        self.store = store
        self.gateway = make_gateway(plan, resources, tools, config)
        self.hub, self.pool, self.intake = self.gateway.hub, self.gateway.pool, self.gateway.intake


@asynccontextmanager
async def sites(url: str, buses: list[Bus], **tools: AnyTool) -> AsyncGenerator[list[Site]]:
    """Open gateways."""
    made = [Site(Repository(await open_postgres(url)), url, bus, tools) for bus in buses]
    for site in made:
        await site.gateway.start()
    await soon(until(lambda: all(site.gateway.peers.live == len(buses) for site in made)))
    try:
        yield made
    finally:
        for site in made:
            await site.gateway.close()
            await site.store.close()


def together() -> list[Bus]:
    """Two ends of one bus."""
    one = MemoryBus()
    return [one, one.other()]


def apart() -> list[Bus]:
    """Two gateways whose bus is away."""
    return [MemoryBus(carries=False), MemoryBus(carries=False)]


@pytest.mark.parametrize("buses", [together, apart])
async def test_a_call_that_another_gateway_performs_is_waited_for(
    postgres_url: str, buses: Callable[[], list[Bus]]
) -> None:
    """R7: the worker goes to another gateway in the middle of a call: its effect happens once, its result arrives."""
    begun, gate = asyncio.Event(), asyncio.Event()
    acts: list[str] = []

    @tool(effect="once")
    async def pay() -> str:
        """Pay."""
        acts.append("paid")
        begun.set()
        await gate.wait()
        return "receipt"

    async with sites(postgres_url, buses(), pay=pay) as (one, two):
        worker, link, _ = await one.join()
        session = await one.session(tools=[AgentTool("pay")])
        await one.say(session)
        hand = Hand(link, await worker.next_job())
        key = await hand.ask("pay")
        first = asyncio.ensure_future(link.call_tool(hand.claim, key, "pay", {}))
        await soon(begun.wait())
        _, other_link, welcome = await two.join(claims=[hand.claim])
        assert welcome.claims == [hand.run_id]
        again = asyncio.ensure_future(other_link.call_tool(hand.claim, key, "pay", {}))
        await asyncio.sleep(0)
        gate.set()
        assert (await soon(again)).content == "receipt"
        assert (await soon(first)).content == "receipt"
        assert acts == ["paid"]
        hand.link = other_link
        await hand.say("Paid.")
        await hand.finish()
        assert (await two.store.get_run(hand.run_id)).status == "completed"


async def test_a_claim_that_moved_is_not_taken_back(postgres_url: str) -> None:
    """B1, R4: the first gateway gives up its worker, whose run is another gateway's by then."""
    async with sites(postgres_url, together()) as (one, two):
        worker, link, _ = await one.join()
        session = await one.session()
        await one.say(session)
        hand = Hand(link, await worker.next_job())
        await two.join(claims=[hand.claim])
        other, _, _ = await one.join("w2")
        link.revoked()
        await soon(until(lambda: not one.pool.orphans))
        assert (await one.store.get_run(hand.run_id)).epoch == hand.claim.epoch
        assert other.jobs.empty()


async def test_what_workers_offer_is_the_same_everywhere(postgres_url: str) -> None:
    """S10: agents in code, tools, and how many workers there are; the agents of both gateways' workers stay."""
    async with sites(postgres_url, together()) as (one, two):
        fields = AgentFields(name="a", system_prompt="", model_provider="demo", model_name="demo")
        await one.join("w1", agents=[fields])
        await two.join("w2", agents=[structs.replace(fields, name="b")])
        agents = await one.store.list_agents("default")
        assert {each.name: each.status for each in agents.items} == {"a": "active", "b": "active"}
        await soon(until(lambda: (one.pool.count(), two.pool.count()) == (2, 2)))


class Performer(HandWorker):
    """A worker that keeps the tasks it performs."""

    def __init__(self) -> None:
        super().__init__()
        self.tasks: list[Task] = []

    async def perform(self, task: Task) -> TaskResult:
        self.tasks.append(task)
        if task.prompt == "fail":
            raise ModelError("rate_limited", "Slowly.", retryable=True)
        return TaskResult(task.prompt, Usage(), vectors=[[float(text)] for text in task.texts])


class Tap:
    """One who listens on the bus."""

    def __init__(self) -> None:
        self.signals: list[Signal] = []

    def heard(self, signal: Signal) -> None:
        self.signals.append(signal)

    def heard_events(self, session_id: str, events: EventSlice) -> None:
        """It watches none."""

    def missed(self, session_id: str | None) -> None:
        """It watches none."""


async def test_a_worker_of_another_gateway_performs_short_tasks(postgres_url: str) -> None:
    """S10: with the key of a team's provider, which nobody reads on the bus; errors come back."""
    first = MemoryBus()
    second = first.other()
    tap, worker = Tap(), Performer()
    first.other().listen(tap)
    async with sites(postgres_url, [first, second]) as (one, two):
        await soon(two.pool.connect(worker).greet(Greeting(worker="w1", room=10)))
        await soon(until(lambda: one.pool.count() == 1))
        endpoint = ModelEndpoint("openai", "https://models.example/v1", "sk-of-the-team")
        task = Task(provider="openai", model="m", instructions="", prompt="Hi", endpoint=endpoint)
        assert (await soon(one.pool.perform(task, "default"))).text == "Hi"
        [performed] = worker.tasks
        assert performed.endpoint == endpoint
        asked = [signal for signal in tap.signals if isinstance(signal, Asked | Answered)]
        assert len(asked) == 2
        assert b"sk-of-the-team" not in msgspec.msgpack.encode(asked)
        texts = [str(number) for number in range(20)]
        embedded = await soon(one.pool.perform(structs.replace(task, texts=texts), "default"))
        assert embedded.vectors == [[float(text)] for text in texts]
        with pytest.raises(ModelError, match="Slowly") as failed:
            await soon(one.pool.perform(structs.replace(task, prompt="fail"), "default"))
        assert failed.value.code == "rate_limited"
        assert failed.value.retryable
        with pytest.raises(ModelError, match="too large"):
            await one.pool.perform(structs.replace(task, prompt="x" * INLINE_BYTES), "default")


async def test_a_worker_of_another_gateway_is_not_asked_without_a_bus(postgres_url: str) -> None:
    """S10: the error is clear, and a job that gets it is tried again, maybe where the worker is."""
    async with sites(postgres_url, apart()) as (one, two):
        await two.join()
        await soon(until(lambda: one.pool.count() == 1))
        with pytest.raises(ModelError, match="while NATS is away") as refused:
            await one.pool.perform(Task(provider="demo", model="m", instructions="", prompt=""), "default")
        assert refused.value.code == "no_worker"
        assert refused.value.retryable


async def test_attempts_to_sign_in_are_counted_together(postgres_url: str) -> None:
    """S14: a guesser has one rate for all gateways; requests have each gateway's share."""
    async with sites(postgres_url, together()) as (one, two):
        for number in range(LIMITS.sign_ins_at_once):
            await (one, two)[number % 2].gateway.attempts.take("sign_in", "203.0.113.9", "ann@example.com")
        for site in (one, two):
            with pytest.raises(LimitExceeded):
                await site.gateway.attempts.check("sign_in", "203.0.113.9")
            with pytest.raises(LimitExceeded):
                await site.gateway.attempts.take("sign_in", "198.51.100.1", "ann@example.com")
            await site.gateway.attempts.check("sign_in", "198.51.100.1")
            rates = site.gateway.rates
            assert rates.gateways == 2
            for _ in range(LIMITS.tool_calls_per_minute // 2):
                rates.take("tool", "key_1")
            with pytest.raises(LimitExceeded):
                rates.take("tool", "key_1")


async def test_a_heartbeat_may_come_by_another_gateway(postgres_url: str) -> None:
    """R4: as behind a load balancer."""
    async with sites(postgres_url, together()) as (one, two):
        await one.join("w1")
        [worker] = one.pool.workers.values()
        worker.seen = 0.0
        assert two.pool.beat_for("w1", OPERATOR, one.gateway.peers.gateway) == 200
        assert worker.seen > 0
        assert two.pool.beat_for("w1", OPERATOR, "gtw_gone") == 410
        one.pool.hear_beat(Beat("", "unknown", ""))


async def test_a_message_at_one_gateway_joins_a_run_of_the_other(postgres_url: str) -> None:
    """C5: its worker hears of it; a deleted session stops at both."""
    async with sites(postgres_url, together()) as (one, two):
        worker, link, _ = await one.join()
        session = await one.session()
        await one.say(session)
        hand = Hand(link, await worker.next_job())
        await two.say(session, "And then?", on_busy="steer")
        assert await soon(worker.given.get()) == (hand.run_id, [1])
        await two.intake.delete_session(Principal("default", "ann", "member", "key_1"), session.id)
        assert await soon(worker.dropped.get()) == (hand.run_id, 1)


_FILL = """
insert into agent_sessions (id, tenant_id, user_id, agent_id, title, on_busy, mark, created_at, updated_at)
select 'fill_' || n, s.tenant_id, s.user_id, s.agent_id, '', 'queue', 'm', 0, 0
from agent_sessions s, generate_series(1, 10000) n where s.id = :session_id;
"""
_FILL_RUNS = """
insert into runs (
    run_id, session_id, agent_id, agent_name, tenant_id, user_id, model, status, kind, epoch, last_seq, created_at,
    mark, title, input, token_hash, turns_at_claim, fruitless
)
select 'run_fill_' || n, 'fill_' || n, s.agent_id, 'a', s.tenant_id, s.user_id, 'demo', 'queued', 'message', 0, 0,
    (extract(epoch from now()) * 1000)::bigint, 'm', '', r.input, '', 0, 0
from agent_sessions s, runs r, generate_series(1, 10000) n where s.id = :session_id and r.run_id = :run_id;
"""


async def test_a_team_with_a_long_queue_delays_no_other(postgres_url: str) -> None:
    """S10, C1: 10,000 queued runs of one team; another's first event comes within 500 ms, while workers have room."""
    async with sites(postgres_url, together()) as (one, two):
        many = await one.session()
        queued = await one.say(many)
        database = PostgresDatabase(postgres_url)
        await database.execute(_FILL, session_id=many.id)
        await database.execute(_FILL_RUNS, session_id=many.id, run_id=queued.run_id)
        worker, link, _ = await one.join(room=20)
        working = asyncio.create_task(_finish_all(worker, link))
        bob = Principal("other", "bob", "member", "key_2")
        delays: list[float] = []
        for _ in range(20):
            session = await two.session(bob)
            began = time.monotonic()
            accepted = await two.say(session, who=bob)
            await two.read(session, 1)
            delays.append(time.monotonic() - began)
            await two.ended(session, accepted.run_id)
        working.cancel()
        assert (await one.store.count_runs())["queued"] > 1000
        assert sorted(delays)[18] < 0.5, delays


async def _finish_all(worker: HandWorker, link: WorkerLink) -> None:
    while True:
        await Hand(link, await worker.jobs.get()).finish()


async def test_gateways_have_the_same_master_key(postgres_url: str) -> None:
    """S10: see acceptance/cluster for the message."""
    async with sites(postgres_url, together()) as (one, _):
        assert one.gateway.membership is not None
        with pytest.raises(UserError) as refused:
            await one.gateway.membership.join(lambda _: False)
        assert refused.value.code == "master_key_differs"
