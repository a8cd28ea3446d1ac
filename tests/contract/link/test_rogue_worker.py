"""A worker with a good key that lies in every field there is: others' runs go on, and every row can still be read."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec import Struct, structs

from agio.core.identity.principal import Principal
from agio.core.identity.worker_key import WorkerKey
from agio.core.link.link import Claim, Greeting, Job, Link, ToolOffer
from agio.core.model import Usage, VendorTurn
from agio.core.store.records import AgentFields, SessionRecord
from agio.core.store.repository import (
    ENDED,
    Append,
    Charge,
    NewRun,
    Outcome,
    Question,
    ToolBegin,
    ToolEnd,
    TurnRecord,
)
from agio.errors import AgioError, StoreError
from agio.gateway.auth.authenticator import hash_secret
from agio.gateway.workers.connected_worker import Permit
from agio.gateway.workers.greeting import WORKERS_PER_KEY
from agio.gateway.workers.greeting_check import ID_BYTES, MAX_AGENTS, MAX_PROVIDERS, MAX_ROOM, MAX_TOOLS
from agio.gateway.workers.worker_keys import new_worker_key
from agio.protocol.codec import encode
from agio.protocol.events import Interrupt, MessagesSnapshot, RunError, RunFinished, RunStarted
from agio.protocol.frames import Frame
from agio.protocol.messages import AssistantMessage
from agio.worker.link_socket import SocketLink
from tests.support.engine import ANN, PATIENCE_S, QUICK, Engine, Hand, HandWorker, engine, soon
from tests.support.served import LinkKind
from tests.support.wiring import Visitor, served_link

BOB = Principal("other", "bob", "member", "key_2")
ROGUE = Permit("wkey_rogue", frozenset({"default"}))
NOTE = b'{"type":"CUSTOM","name":"x","value":1}\n'
FAR = 2**62
TURN = TurnRecord("", 1, 2, "demo:demo", "end", Usage(), VendorTurn("scripted", []))
OFFER = ToolOffer(name="t", description="", parameters={}, kind="builtin")
AGENT = AgentFields(name="n", system_prompt="", model_provider="demo", model_name="demo")


class Truth(Struct, frozen=True):
    """What a worker that does not lie would know."""

    run_id: str
    session_id: str
    neighbour: str
    """A run of somebody else's."""

    @property
    def finished(self) -> bytes:
        return encode(RunFinished(self.session_id, self.run_id)) + b"\n"


def lines(*payloads: bytes) -> list[dict[str, object]]:
    """Frames with these payloads, which say how many lines they have."""
    return [{"payload": payload, "count": payload.count(b"\n")} for payload in payloads]


def frame_lies(truth: Truth) -> dict[str, list[dict[str, object]]]:
    """What may be wrong with a frame, by field; a payload comes with its count."""
    alone: dict[str, list[object]] = {
        "run_id": ["", truth.neighbour],
        "epoch": [0, 2, FAR],
        "first_seq": [0, -1, 1, 3, FAR],
        "count": [0, 2, -1, FAR],
    }
    payloads = lines(
        b"",
        b"\n",
        b"text\n",
        b"[]\n",
        b"{}\n",
        NOTE[:-1],
        NOTE[:-1] + b"\r\n",
        NOTE[:-1] + NOTE,
        NOTE + b"\n",
        NOTE.replace(b",", b",\n"),
        NOTE.replace(b'"x"', b'"x","name":"y"'),
        NOTE.replace(b"x", b"\xff"),
        NOTE.replace(b"CUSTOM", b"UNKNOWN"),
        NOTE.replace(b"1", b"[" * 5000 + b"]" * 5000),
        NOTE.replace(b"1", b'"' + b"x" * (3 * 1024 * 1024) + b'"'),
        NOTE.replace(b"1", b'1,"metadata":{"seq":4611686018427387904}'),
        NOTE.replace(b"1", b'1,"metadata":{"run":"run_of_another"}'),
        b'{"type":"TEXT_MESSAGE_CHUNK","messageId":"\\u0000","delta":"\\u0000"}\n',
        b'{"type":"TOOL_CALL_ARGS","toolCallId":"call_unknown","delta":"{}"}\n',
        b'{"type":"CUSTOM","name":"agio.error","value":{"usage":{"input":"many"}}}\n',
        b'{"type":"CUSTOM","name":"agio.error","value":{"usage":{"input":9223372036854775808}}}\n',
        b'{"type":"CUSTOM","name":"agio.handoff","value":{"to":1,"filter":"none"}}\n',
        b'{"type":"CUSTOM","name":"agio.compacted","value":{"text":1,"through_id":2}}\n',
        encode(RunStarted(truth.session_id, truth.run_id)) + b"\n",
        encode(RunError("No.")) + b"\n",
        encode(MessagesSnapshot([])) + b"\n",
        truth.finished,
        truth.finished + NOTE,
    )
    return {name: [{name: value} for value in values] for name, values in alone.items()} | {
        "payload": payloads
    }


def append_lies(truth: Truth) -> dict[str, list[object]]:
    """What may be wrong with an append, by field."""
    own = structs.replace(TURN, run_id=truth.run_id)
    return {
        "frame": [],
        "turns": [
            [TURN],
            *([structs.replace(own, seq=seq)] for seq in (0, FAR, -FAR)),
            [structs.replace(own, usage=Usage(FAR, -FAR))],
        ],
        "end": ["queued", "running", "completed", "failed", "cancelled", "interrupted", "expired"],
        "error_code": ["x"],
        "create": [NewRun("run_new", truth.session_id, "agent", "model", "mark")],
        "begins": [[ToolBegin("\0" * 1000, "\0")], [ToolBegin("", "")] * 1000],
        "ends": [[ToolEnd("\0", "\0")], [ToolEnd("", "x" * 100_000)]],
        "outcome": [Outcome()],
        "error_message": ["x"],
        "level": [-FAR, 0, FAR],
        "consumed": [-1, 1, FAR],
        "extract_in_ms": [-FAR, 0, FAR],
        "charge": [Charge(-1), Charge(FAR, FAR), Charge(0, 0, float("nan")), Charge(0, 0, float("inf"))],
    }


def outcome_lies(_: Truth) -> dict[str, list[object]]:
    """What may be wrong with what a run leaves, by field."""
    return {
        "messages": [[AssistantMessage(id="\0", content="\0")], [AssistantMessage(id="")] * 3000],
        "questions": [[Question(Interrupt("int_x", "tool_call"), "pay", "{")]],
        "pending": [["\0", "x" * 100_000], ["x"] * 10_000],
        "active_agent": ["\0", "x" * 100_000],
        "goal_met": [True],
        "needed": [-1, FAR],
        "steps": [-1, FAR],
        "ended_at": [-1, -FAR, FAR],
    }


GREETINGS: dict[str, list[object]] = {
    "log_level": [-FAR, FAR],
    "worker": ["", "x" * (ID_BYTES + 1), "wrk_good"],
    "room": [-1, 0, FAR],
    "agents": [
        [structs.replace(AGENT, name=f"n{number}") for number in range(MAX_AGENTS + 1)],
        [structs.replace(AGENT, system_prompt="x" * (3 * 1024 * 1024))],
        [AGENT, AGENT],
        [structs.replace(AGENT, name="\0", temperature=float("nan"), max_steps=-FAR)],
        [structs.replace(AGENT, max_steps=2**64 - 1)],
    ],
    "tools": [[OFFER] * (MAX_TOOLS + 1), [structs.replace(OFFER, timeout_s=float("nan"))]],
    "claims": [[Claim("run_x", 1, "t")] * (MAX_ROOM + 1), [Claim("\0", -FAR, "\0")]],
    "providers": [["x"] * (MAX_PROVIDERS + 1)],
}


def lies(truth: Truth) -> list[Append]:
    """Every lie about a run: one field of a good append, of its frame, or of its outcome, is another."""
    framed, written, left = frame_lies(truth), append_lies(truth), outcome_lies(truth)
    for kind, table in ((Frame, framed), (Append, written), (Outcome, left)):
        assert table.keys() == set(kind.__struct_fields__)
    frame = Frame(truth.run_id, 1, 2, 1, NOTE)
    last = structs.replace(frame, payload=truth.finished)
    made: list[Append] = []
    for values in framed.values():
        for changes in values:
            made += [
                Append(structs.replace(frame, **changes)),
                Append(structs.replace(last, **changes), end="completed"),
            ]
    for name, values in written.items():
        for value in values:
            made += [structs.replace(Append(frame), **{name: value})]
            made += [structs.replace(Append(last, end="completed", outcome=Outcome()), **{name: value})]
    for name, values in left.items():
        for value in values:
            outcome = structs.replace(Outcome(), **{name: value})
            made += [Append(frame, outcome=outcome), Append(last, end="completed", outcome=outcome)]
    return made


PATIENT = structs.replace(QUICK, link_grace_s=PATIENCE_S)
"""A link that a lie broke comes back in time, however busy the machine is."""


class Good:
    """A worker of another tenant, and a session it serves."""

    def __init__(self, room: Engine, worker: HandWorker, link: Link, session: SessionRecord) -> None:
        self._room, self._worker, self._link, self._session = room, worker, link, session

    async def serve(self) -> None:
        """See that a run of the other tenant is claimed and ends."""
        sent = await self._room.say(self._session, who=BOB)
        await Hand(self._link, await self._worker.next_job()).finish()
        assert (await self._room.store.get_run(sent.run_id)).status == "completed"


@asynccontextmanager
async def opened(path: Path | str) -> AsyncGenerator[tuple[Engine, Good]]:
    """A gateway on a file, with a worker for the other tenant: the rogue has come before, under its name."""
    async with engine(PATIENT, path=path) as room:
        worker = HandWorker()
        await soon(room.pool.connect(HandWorker(), ROGUE).greet(Greeting(worker="wrk_good", room=0)))
        link = room.pool.connect(worker, Permit("wkey_good", frozenset({"other"})))
        session = await room.session(BOB)
        await soon(link.greet(Greeting(worker="wrk_good", room=1)))
        yield room, Good(room, worker, link, session)


@asynccontextmanager
async def rogue_of(kind: LinkKind, room: Engine) -> AsyncGenerator[tuple[Visitor, Link]]:
    """A worker whose key is good for one tenant."""
    visitor = Visitor("wrk_rogue", room=10)
    if kind == "direct":
        link = room.pool.connect(visitor, ROGUE)
        await soon(visitor.join(link))
        yield visitor, link
        return
    key = new_worker_key()
    await room.store.add_worker_key(
        WorkerKey("wkey_rogue", "test", key[:9], ["default"], created_at=1), hash_secret(key)
    )
    async with served_link(room) as url:
        link = SocketLink(url, key, visitor)
        running = asyncio.create_task(link.run())
        await soon(link.joined.wait())
        yield visitor, link
        await link.close()
        await soon(running)


async def _cancelled(room: Engine, session: SessionRecord, run_id: str) -> None:
    """Let the gateway end a run, whatever its log has, unless its worker did."""
    for info in await room.store.request_cancel(ANN.tenant, ANN.user, run_id=run_id):
        room.pool.cancel(info)
    await room.ended(session, run_id)


async def _check_rows(room: Engine, runs: Sequence[tuple[SessionRecord, str]]) -> None:
    """Read everything the rogue may have written."""
    store = room.store
    for session, run_id in runs:
        assert (await store.get_run(run_id)).status in ENDED
        assert (await store.get_events(run_id))[-1].type in ("RUN_FINISHED", "RUN_ERROR")
        await store.list_messages(ANN.tenant, ANN.user, session.id)
        await store.list_interrupts(ANN.tenant, ANN.user, session.id)
        await store.list_tool_executions(ANN.tenant, ANN.user, run_id)
    assert await store.count_runs() == {"queued": 0, "running": 0}


@pytest.mark.parametrize(("kind", "backend"), [("direct", "sqlite"), ("websocket", "postgres")])
async def test_no_append_of_a_rogue_worker_delays_others_or_leaves_a_row_that_cannot_be_read(
    kind: LinkKind, backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """R7: one tenant's worker lies in every field; another tenant's runs end, now and after a restart."""
    path = tmp_path / "agio.db" if backend == "sqlite" else str(request.getfixturevalue("postgres_url"))
    runs: list[tuple[SessionRecord, str]] = []
    async with opened(path) as (room, good):
        neighbour = await room.session()
        async with rogue_of(kind, room) as (visitor, link):
            other = (await room.say(neighbour)).run_id
            await visitor.next_job()
            job: Job | None = None
            for number in range(len(lies(Truth("run_x", "thr_x", other)))):
                if job is None:
                    session = await room.session()
                    await room.say(session)
                    job = await visitor.next_job()
                    runs.append((session, job.claim.run_id))
                lie = lies(Truth(job.claim.run_id, job.log.info.session_id, other))[number]
                try:
                    await soon(link.append(job.claim, lie))
                except StoreError:
                    continue  # it has changed nothing: the run goes on with the next lie
                await _cancelled(room, *runs[-1])
                await good.serve()
                job = None
            assert job is not None
            await Hand(link, job).finish()
            await _cancelled(room, neighbour, other)
        await good.serve()
        await _check_rows(room, runs)
    async with opened(path) as (room, good):
        await good.serve()
        await _check_rows(room, runs)


async def test_no_greeting_of_a_rogue_worker_delays_others_and_its_workers_are_bounded(
    tmp_path: Path,
) -> None:
    """R7: whatever a worker says of itself, and however often it comes, other tenants' runs end."""
    path = tmp_path / "agio.db"
    fields = GREETINGS.keys()
    assert fields == set(Greeting.__struct_fields__)
    async with opened(path) as (room, good):
        await room.session()
        refusals: set[str] = set()
        honest = Greeting(worker="wrk_rogue", room=1)
        told = [structs.replace(honest, **{name: value}) for name in fields for value in GREETINGS[name]]
        told += [structs.replace(honest, worker=f"wrk_{number}") for number in range(WORKERS_PER_KEY + 1)]
        for greeting in told:
            try:
                await soon(room.pool.connect(HandWorker(), ROGUE).greet(greeting))
            except AgioError as refused:
                refusals.add(refused.code)
        assert {"invalid_greeting", "too_many_workers"} <= refusals
        workers = [worker for worker in room.pool.workers.values() if worker.permit == ROGUE]
        assert len(workers) == WORKERS_PER_KEY
        assert all(0 <= worker.room <= MAX_ROOM for worker in workers)
        await good.serve()
    async with opened(path) as (_, good):
        await good.serve()
