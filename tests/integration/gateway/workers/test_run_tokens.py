"""Run tokens: a worker may ask for what its claim covers. Forgeries, by raw frames over a WebSocket and directly."""

import asyncio
import http.client
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

import pytest
from msgspec import structs
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from agio import tool
from agio.core.handoff import Handoff
from agio.core.identity.principal import Principal
from agio.core.identity.worker_key import WorkerKey
from agio.core.link import wire
from agio.core.link.link import Claim, Greeting, Job, ToolOffer, Welcome
from agio.core.model import Usage, VendorTurn
from agio.core.store.records import AgentFields, AgentTool, SessionRecord
from agio.core.store.repository import Append, NewRun, ToolRecord, TurnRecord
from agio.errors import AgioError
from agio.gateway.auth.authenticator import hash_secret
from agio.gateway.workers.connected_worker import OPERATOR
from agio.gateway.workers.link import WorkerLink
from agio.gateway.workers.worker_keys import new_worker_key
from agio.protocol.frames import Frame
from agio.protocol.ids import id_body
from tests.support.engine import ANN, QUICK, Engine, Hand, HandWorker, engine, soon
from tests.support.scenes import Person
from tests.support.uploads import upload
from tests.support.wiring import KEY, RING, served_link

Transport: TypeAlias = Literal["direct", "websocket"]
BOB = Principal("other", "bob", "member", "key_2")
PATIENT = structs.replace(QUICK, link_grace_s=3600.0, silence_s=3600.0)
NOTE = b'{"type":"CUSTOM","name":"forged","value":1}\n'


class Caller:
    """A worker that says whatever a test wants, to the byte."""

    def __init__(self, name: str, link: WorkerLink | None, socket: ClientConnection | None) -> None:
        self.name = name
        self.inbox = HandWorker()
        self._link = link
        self._socket = socket
        self._count = 0
        self._answers: dict[int, asyncio.Future[wire.DownFrame]] = {}
        self._reading: asyncio.Task[None] | None = None

    @property
    def number(self) -> int:
        """The number of the next call."""
        self._count += 1
        return self._count

    async def ask(self, frame: wire.UpFrame) -> object:
        """Send a frame and return what was answered: the answer's value, or the error. None: the link was closed."""
        if self._socket is None:
            return await self._call(frame)
        if self._reading is None:
            self._reading = asyncio.create_task(self._read(self._socket))
        number: int = frame.id
        answered = self._answers[number] = asyncio.get_running_loop().create_future()
        await self._socket.send(b"".join(wire.messages_of([wire.encode_frame(frame)])))
        await soon(asyncio.wait((answered, self._reading), return_when=asyncio.FIRST_COMPLETED))
        if not answered.done():
            return None
        match answered.result():
            case wire.Failed() as failed:
                return failed.error()
            case wire.Done():
                return "done"
            case (
                wire.Welcomed(_, value)
                | wire.Written(_, value)
                | wire.Begun(_, value)
                | wire.Used(_, value)
                | wire.Piece(_, value)
            ):
                return value
            case other:
                raise AssertionError(other)

    async def _read(self, socket: ClientConnection) -> None:
        try:
            while True:
                message = await socket.recv()
                assert isinstance(message, bytes)
                for frame in wire.decode_down(message):
                    match frame:
                        case wire.Start(job):
                            self.inbox.start(job)
                        case wire.Drop(run_id, epoch):
                            self.inbox.drop(run_id, epoch)
                        case wire.Cancel() | wire.Drain() | wire.Give() | wire.Perform() | wire.Report():
                            pass
                        case _:
                            self._answers.pop(frame.id).set_result(frame)
        except ConnectionClosed:
            pass

    async def _call(self, frame: wire.UpFrame) -> object:
        link = self._link
        assert link is not None
        try:
            match frame:
                case wire.Greet(_, greeting):
                    return await soon(link.greet(greeting))
                case wire.Write(_, claim, write):
                    return await soon(link.append(claim, write))
                case wire.Begin(_, claim, key, name, effect):
                    return await soon(link.begin_tool(claim, key, name, effect))
                case wire.End(_, claim, key, record):
                    return await soon(link.end_tool(claim, key, record)) or "done"
                case wire.Use(_, claim, key, name, _, lane, agent):
                    return await soon(link.call_tool(claim, key, name, frame.decoded(), lane, agent))
                case wire.Read(_, claim, file_id, idx):
                    return await soon(link.read_file(claim, file_id, idx))
                case wire.Release(_, claim):
                    return await soon(link.release(claim)) or "done"
                case _:
                    raise AssertionError(frame)
        except AgioError as error:
            return error

    async def close(self) -> None:
        """Go away."""
        if self._socket is not None:
            await self._socket.close()
        if self._reading is not None:
            await soon(self._reading)


class Scene:
    """A worker's runs of two tenants, and a second worker with one run, who is up to no good."""

    def __init__(self, room: Engine, url: str, transport: Transport) -> None:
        self.room = room
        self.url = url
        self.transport: Transport = transport
        self.acts: list[str] = []
        self.callers: list[Caller] = []
        self.thief: Caller
        self.victim: Caller
        self.own: Job
        self.anns: Job
        """The victim's run of the thief's own user, in another session."""
        self.bobs: Job
        """The victim's run of another tenant."""
        self.sessions: dict[str, SessionRecord] = {}

    async def come(self, name: str, room: int, *, key: str = KEY, claims: tuple[Claim, ...] = ()) -> Caller:
        """Let a worker come."""
        caller = await self.knock(name, key)
        welcome = await self.greet(caller, room, claims)
        assert isinstance(welcome, Welcome), welcome
        return caller

    async def knock(self, name: str, key: str = KEY) -> Caller:
        """Open a link, and say nothing yet."""
        if self.transport == "direct" and key == KEY:
            inbox = HandWorker()
            caller = Caller(name, self.room.pool.connect(inbox), None)
            caller.inbox = inbox
        else:
            address = self.url.replace("http", "ws") + "/link"
            headers = {"authorization": f"Bearer {key}"}
            socket = await connect(address, additional_headers=headers, open_timeout=60)
            caller = Caller(name, None, socket)
        self.callers.append(caller)
        return caller

    async def greet(self, caller: Caller, room: int = 1, claims: tuple[Claim, ...] = ()) -> object:
        """Say who comes."""
        greeting = Greeting(worker=caller.name, room=room, tools=[RING], claims=list(claims))
        return await caller.ask(wire.Greet(caller.number, greeting))

    async def set_up(self) -> None:
        """Let the two come, and give them their runs."""
        given = [AgentTool("act"), AgentTool("ring")]
        for name, who in (("ann", ANN), ("bob", BOB), ("own", ANN)):
            self.sessions[name] = await self.room.session(who, given)
        self.victim = await self.come("wrk_victim", 2)
        await self.room.say(self.sessions["ann"])
        await self.room.say(self.sessions["bob"], who=BOB)
        self.anns, self.bobs = [await self.victim.inbox.next_job() for _ in range(2)]
        self.thief = await self.come("wrk_thief", 1)
        await self.room.say(self.sessions["own"])
        self.own = await self.thief.inbox.next_job()

    async def state(self) -> list[object]:
        """Everything a forgery might change."""
        known: list[object] = [
            list(self.acts),
            sorted(connected.id for connected in self.room.pool.workers.values()),
        ]
        for job in (self.anns, self.bobs, self.own):
            held = self.room.pool.runs.get(job.claim.run_id)
            log = await self.room.store.get_log(job.claim.run_id)
            info = structs.replace(log.info, last_seq=0)
            tools = (await self.room.store.list_tool_executions(info.tenant, info.user, info.run_id)).items
            known += [info, log.payload, tools, held and held.worker.id]
        return known

    def key_of(self, job: Job, index: int = 0) -> str:
        """The key of a call of a run's."""
        return f"call_{id_body(job.claim.run_id)}_1_{index}"

    def write(self, job: Job, *, run_id: str | None = None, payload: bytes = NOTE) -> Append:
        """What would go on with a run's log."""
        claim = job.claim
        return Append(Frame(run_id or claim.run_id, claim.epoch, 2, 1, payload))


@asynccontextmanager
async def _scene(transport: Transport) -> AsyncGenerator[Scene]:
    acts: list[str] = []

    @tool
    def act(what: str = "") -> str:
        """Act."""
        acts.append(what)
        return f"acted {len(acts)}"

    @tool
    def secret() -> str:
        """Do what no agent here may."""
        acts.append("secret")
        return "done"

    async with engine(PATIENT, tools={"act": act, "secret": secret}) as room, served_link(room) as url:
        scene = Scene(room, url, transport)
        scene.acts = acts
        await scene.set_up()
        try:
            yield scene
        finally:
            for caller in scene.callers:
                await caller.close()


Forge: TypeAlias = Callable[[Scene], wire.UpFrame]
STALE = "stale_epoch"
NOT_ALLOWED = "tool_not_allowed"


def _claim(scene: Scene, **changes: object) -> Claim:
    return structs.replace(scene.own.claim, **changes)


def _turn_of_another(scene: Scene) -> Append:
    turn = TurnRecord(scene.anns.claim.run_id, 1, 2, "demo:demo", "end", Usage(), VendorTurn("scripted", []))
    return structs.replace(scene.write(scene.own), turns=[turn])


def _new_run(scene: Scene) -> Append:
    new = NewRun("run_forged", scene.sessions["bob"].id, "other", "bob", "agent")
    return structs.replace(scene.write(scene.own), create=new)


RECORD = ToolRecord("forged", None)
FORGERIES: dict[str, tuple[Forge, str]] = {
    "own token for another run": (
        lambda s: wire.Write(9, _claim(s, run_id=s.anns.claim.run_id), s.write(s.anns)),
        STALE,
    ),
    "own token for another tenant's run": (
        lambda s: wire.Write(9, _claim(s, run_id=s.bobs.claim.run_id), s.write(s.bobs)),
        STALE,
    ),
    "a stolen claim, shown by another worker": (
        lambda s: wire.Write(9, s.anns.claim, s.write(s.anns)),
        STALE,
    ),
    "a stolen token for its own run": (
        lambda s: wire.Write(9, _claim(s, token=s.anns.claim.token), s.write(s.own)),
        STALE,
    ),
    "an older epoch": (lambda s: wire.Write(9, _claim(s, epoch=0), s.write(s.own)), STALE),
    "a newer epoch": (lambda s: wire.Write(9, _claim(s, epoch=2), s.write(s.own)), STALE),
    "an impossible epoch": (lambda s: wire.Write(9, _claim(s, epoch=-(2**62)), s.write(s.own)), STALE),
    "an empty token": (lambda s: wire.Write(9, _claim(s, token=""), s.write(s.own)), STALE),
    "most of the token": (
        lambda s: wire.Write(9, _claim(s, token=s.own.claim.token[:-1]), s.write(s.own)),
        STALE,
    ),
    "more than the token": (
        lambda s: wire.Write(9, _claim(s, token=s.own.claim.token + "A"), s.write(s.own)),
        STALE,
    ),
    "a huge token": (lambda s: wire.Write(9, _claim(s, token="A" * 1_000_000), s.write(s.own)), STALE),
    "the token's hash": (
        lambda s: wire.Write(9, _claim(s, token=hash_secret(s.own.claim.token).hex()), s.write(s.own)),
        STALE,
    ),
    "a hash that begins alike": (
        lambda s: wire.Write(
            9, _claim(s, token=hash_secret(s.own.claim.token)[:16].decode("latin-1")), s.write(s.own)
        ),
        STALE,
    ),
    "no run at all": (lambda s: wire.Write(9, _claim(s, run_id=""), s.write(s.own, run_id="")), STALE),
    "its own claim around another run's events": (
        lambda s: wire.Write(9, s.own.claim, s.write(s.own, run_id=s.anns.claim.run_id)),
        STALE,
    ),
    "its own claim around another run's turn": (
        lambda s: wire.Write(9, s.own.claim, _turn_of_another(s)),
        "invalid_append",
    ),
    "its own claim around a new run for somebody": (
        lambda s: wire.Write(9, s.own.claim, _new_run(s)),
        "invalid_append",
    ),
    "a tool the agent was not given": (
        lambda s: wire.Use(9, s.own.claim, s.key_of(s.own), "secret", b"{}"),
        NOT_ALLOWED,
    ),
    "a tool nobody has": (
        lambda s: wire.Use(9, s.own.claim, s.key_of(s.own), "../act", b"{}"),
        NOT_ALLOWED,
    ),
    "the worker's tool as the gateway's": (
        lambda s: wire.Use(9, s.own.claim, s.key_of(s.own), "ring", b"{}"),
        NOT_ALLOWED,
    ),
    "the gateway's tool as the worker's": (
        lambda s: wire.Begin(9, s.own.claim, s.key_of(s.own), "act", "read"),
        NOT_ALLOWED,
    ),
    "a call of another session's run": (
        lambda s: wire.Use(9, s.own.claim, s.key_of(s.anns), "act", b"{}"),
        NOT_ALLOWED,
    ),
    "a call of another tenant's run": (
        lambda s: wire.Begin(9, s.own.claim, s.key_of(s.bobs), "ring", "once"),
        NOT_ALLOWED,
    ),
    "the result of another run's call": (
        lambda s: wire.End(9, s.own.claim, s.key_of(s.anns), RECORD),
        NOT_ALLOWED,
    ),
    "a call without a key": (lambda s: wire.Use(9, s.own.claim, "", "act", b"{}"), NOT_ALLOWED),
    "a key that is no call's": (
        lambda s: wire.Use(9, s.own.claim, s.own.claim.run_id, "act", b"{}"),
        NOT_ALLOWED,
    ),
    "a key with somebody's run in it": (
        lambda s: wire.Use(
            9, s.own.claim, f"call_{id_body(s.anns.claim.run_id)}_{s.key_of(s.own)}", "act", b"{}"
        ),
        NOT_ALLOWED,
    ),
    "a tool in another run's name": (
        lambda s: wire.Use(9, _claim(s, run_id=s.bobs.claim.run_id), s.key_of(s.bobs), "act", b"{}"),
        STALE,
    ),
    "the release of another's run": (
        lambda s: wire.Release(9, _claim(s, run_id=s.anns.claim.run_id)),
        STALE,
    ),
    "the release of another's run with its claim": (lambda s: wire.Release(9, s.anns.claim), STALE),
    "a file in another run's name": (
        lambda s: wire.Read(9, _claim(s, run_id=s.bobs.claim.run_id), "file_x", 0),
        STALE,
    ),
}


@pytest.mark.parametrize("forgery", FORGERIES)
@pytest.mark.parametrize("transport", ["direct", "websocket"])
async def test_a_forgery_is_refused_and_changes_nothing(transport: Transport, forgery: str) -> None:
    """R7: logs, tool records, who holds what: all as before; and the forger's own run can still go on."""
    forge, code = FORGERIES[forgery]
    async with _scene(transport) as scene:
        before = await scene.state()
        refused = await scene.thief.ask(structs.replace(forge(scene), id=scene.thief.number))
        assert isinstance(refused, AgioError), refused
        assert refused.code == code
        for job in (scene.anns, scene.bobs):
            assert job.claim.token not in refused.message
        assert await scene.state() == before
        good = wire.Write(scene.thief.number, scene.own.claim, scene.write(scene.own))
        assert not isinstance(await scene.thief.ask(good), AgioError)


@pytest.mark.parametrize("transport", ["direct", "websocket"])
async def test_a_claim_dies_with_its_run(transport: Transport) -> None:
    """R7: after the end nothing more is written, called, read or given back; nor after a deletion."""
    async with _scene(transport) as scene:
        ended = Hand(_Spoken(scene.thief), scene.own)  # pyright: ignore[reportArgumentType]
        await ended.finish()
        await scene.room.intake.delete_session(ANN, scene.sessions["ann"].id)
        for caller, job in ((scene.thief, scene.own), (scene.victim, scene.anns)):
            for frame in (
                wire.Write(0, job.claim, scene.write(job)),
                wire.Use(0, job.claim, scene.key_of(job), "act", b"{}"),
                wire.Begin(0, job.claim, scene.key_of(job), "ring", "once"),
                wire.End(0, job.claim, scene.key_of(job), RECORD),
                wire.Read(0, job.claim, "file_x", 0),
                wire.Release(0, job.claim),
            ):
                refused = await caller.ask(structs.replace(frame, id=caller.number))
                assert isinstance(refused, AgioError)
                assert refused.code == STALE
            _, _, welcome = await scene.room.join("wrk_new", claims=[job.claim])
            assert welcome.claims == []
        assert scene.acts == []
        connected = scene.room.pool.workers[OPERATOR, "wrk_new"]
        assert connected.runs == {}


class _Spoken:
    """A link whose appends go through a caller."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def append(self, claim: Claim, write: Append) -> object:
        answer = await self._caller.ask(wire.Write(self._caller.number, claim, write))
        assert not isinstance(answer, AgioError), answer
        return answer


@pytest.mark.parametrize("transport", ["direct", "websocket"])
async def test_what_was_written_is_not_written_over(transport: Transport) -> None:
    """R7: the same append again answers as the first did; with other bytes, or from the past, it is refused."""
    async with _scene(transport) as scene:
        caller, claim = scene.thief, scene.own.claim
        first = await caller.ask(wire.Write(caller.number, claim, scene.write(scene.own)))
        assert not isinstance(first, AgioError)
        after = await scene.state()
        again = await caller.ask(wire.Write(caller.number, claim, scene.write(scene.own)))
        assert again == first
        for payload in (NOTE.replace(b"1}", b"2}"), NOTE.replace(b"forged", b"other")):
            refused = await caller.ask(
                wire.Write(caller.number, claim, scene.write(scene.own, payload=payload))
            )
            assert isinstance(refused, AgioError)
            assert refused.code == "append_conflict"
        assert await scene.state() == after


@pytest.mark.parametrize("transport", ["direct", "websocket"])
async def test_a_call_that_is_repeated_acts_once_and_its_result_is_not_forged(transport: Transport) -> None:
    """R7, L5: the stored result comes back, whatever the repeat asks for; the worker does not write it."""
    async with _scene(transport) as scene:
        caller, claim, key = scene.thief, scene.own.claim, scene.key_of(scene.own)
        first = await caller.ask(wire.Use(caller.number, claim, key, "act", b'{"what": "once"}'))
        assert getattr(first, "content", None) == "acted 1"
        again = await caller.ask(wire.Use(caller.number, claim, key, "act", b'{"what": "twice"}'))
        assert again == first
        assert scene.acts == ["once"]
        refused = await caller.ask(wire.End(caller.number, claim, key, RECORD))
        assert isinstance(refused, AgioError)
        assert refused.code == NOT_ALLOWED
        kept = await scene.room.store.begin_tool(claim.run_id, key)
        assert kept is not None
        assert kept.content == "acted 1"


@pytest.mark.parametrize("transport", ["direct", "websocket"])
async def test_a_file_of_another_session_is_not_read(transport: Transport) -> None:
    """R7: not one of the same user's, not another tenant's, not one of no session."""
    async with _scene(transport) as scene:
        ann = Person(scene.room.store, "default", "ann")
        bob = Person(scene.room.store, "other", "bob")
        own = await upload(ann, b"mine", session_id=scene.sessions["own"].id)
        for owner, session_id in (
            (ann, scene.sessions["ann"].id),
            (bob, scene.sessions["bob"].id),
            (ann, None),
        ):
            foreign = await upload(owner, b"secret", session_id=session_id)
            refused = await scene.thief.ask(wire.Read(scene.thief.number, scene.own.claim, foreign.id, 0))
            assert isinstance(refused, AgioError)
            assert refused.code == "file_not_found"
        piece = await scene.thief.ask(wire.Read(scene.thief.number, scene.own.claim, own.id, 0))
        assert getattr(piece, "data", None) == b"mine"


async def _limited_key(room: Engine, *tenants: str) -> str:
    key = new_worker_key()
    row = WorkerKey(f"wkey_{len(tenants)}{key[-6:]}", "test", key[:9], list(tenants), created_at=1)
    await room.store.add_worker_key(row, hash_secret(key))
    return key


@pytest.mark.parametrize("steal", [False, True])
async def test_a_workers_place_is_not_taken_with_another_key(steal: bool) -> None:
    """R7: not by its id, and not by its id and its claims; the worker there keeps its link and its runs."""
    async with _scene("websocket") as scene:
        key = await _limited_key(scene.room, "default", "other")
        before = await scene.state()
        claims = (scene.anns.claim, scene.bobs.claim) if steal else ()
        welcome = await scene.greet(await scene.knock("wrk_victim", key), 0, claims)
        assert isinstance(welcome, Welcome)
        assert welcome.claims == []
        assert (await scene.state())[2:] == before[2:]
        written = await scene.victim.ask(
            wire.Write(scene.victim.number, scene.anns.claim, scene.write(scene.anns))
        )
        assert not isinstance(written, AgioError)


async def test_a_claim_that_another_worker_holds_is_not_honoured_however_right_it_is() -> None:
    """R7: a worker that is there has not lost its runs, whoever else shows up with the token."""
    async with _scene("websocket") as scene:
        before = await scene.state()
        caller = await scene.knock("wrk_other")
        welcome = await scene.greet(caller, 0, (scene.anns.claim, scene.bobs.claim))
        assert isinstance(welcome, Welcome)
        assert welcome.claims == []
        after = await scene.state()
        assert after[2:] == before[2:]


async def test_a_claim_of_a_tenant_that_a_key_does_not_name_is_not_honoured() -> None:
    """R7: the run has no worker and the token is right; the key is not."""
    async with _scene("websocket") as scene:
        key = await _limited_key(scene.room, "other")
        for job in (scene.anns, scene.bobs):
            held = scene.room.pool.runs[job.claim.run_id]
            assert scene.room.pool.let_go(held)  # as after this gateway began anew
        caller = await scene.knock("wrk_other", key)
        welcome = await scene.greet(caller, 0, (scene.anns.claim, scene.bobs.claim))
        assert isinstance(welcome, Welcome)
        assert welcome.claims == [scene.bobs.claim.run_id]


async def test_a_heartbeat_in_anothers_name_is_nobodys() -> None:
    """R7: with another key, a wrong one or none; the silence of the worker it names goes on."""
    async with _scene("websocket") as scene:
        key = await _limited_key(scene.room, "default")
        connected = scene.room.pool.workers[OPERATOR, "wrk_victim"]
        seen = connected.seen
        address = urlsplit(scene.url)

        def beat(shown: str) -> int:
            connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=60)
            headers = {"authorization": f"Bearer {shown}"} if shown else {}
            connection.request("POST", "/link/heartbeat", "wrk_victim", headers)
            status = connection.getresponse().status
            connection.close()
            return status

        assert await asyncio.to_thread(beat, key) == 410
        assert await asyncio.to_thread(beat, "x" * 40) == 401
        assert await asyncio.to_thread(beat, "") == 401
        assert connected.seen == seen
        assert await asyncio.to_thread(beat, KEY) == 200
        assert connected.seen > seen


async def test_a_worker_does_not_offer_what_runs_at_the_gateway() -> None:
    """R7: whatever it says of its tools, they are its own; the gateway's keep their approval."""
    offers = [
        ToolOffer(name="secret", description="", parameters={"type": "object"}, kind="builtin"),
        structs.replace(RING, kind="builtin"),
    ]
    async with _scene("direct") as scene:
        session = await scene.room.session(ANN, [AgentTool("ring"), AgentTool("secret", "ask")])
        worker, link, _ = await scene.room.join("wrk_liar", room=1, tools=offers)
        await scene.room.say(session)
        job = await worker.next_job()
        assert {offer.name: offer.place for offer in job.tools} == {"ring": "worker", "secret": "gateway"}
        caller = Caller("wrk_liar", link, None)
        for name in ("ring", "secret"):
            refused = await caller.ask(wire.Use(1, job.claim, scene.key_of(job), name, b"{}"))
            assert isinstance(refused, AgioError), name
        assert scene.acts == []


@pytest.mark.parametrize("transport", ["direct", "websocket"])
async def test_a_run_has_the_tools_of_each_agent_of_its_team_and_no_others(transport: Transport) -> None:
    """R7, S7: the token covers the pairs of agent and tool that the run has pinned."""
    async with _scene(transport) as scene:
        mate = AgentFields(name="mate", system_prompt="x", model_provider="demo", model_name="demo")
        await scene.room.store.create_agent("default", structs.replace(mate, tools=[AgentTool("secret")]))
        boss = structs.replace(
            mate, name="boss", tools=[AgentTool("act")], handoffs=[Handoff("mate", "tool")]
        )
        agent = await scene.room.store.create_agent("default", boss)
        session = await scene.room.store.start_session("default", ANN.user, agent.id)
        caller = await scene.come("wrk_team", 1)
        await scene.room.say(session)
        job = await caller.inbox.next_job()
        assert [(each.agent.name, [tool.name for tool in each.tools]) for each in job.team] == [
            ("mate", ["secret"])
        ]
        key = scene.key_of(job)
        for tool_name, agent_name in (("secret", ""), ("secret", "boss"), ("act", "mate"), ("act", "nobody")):
            frame = wire.Use(caller.number, job.claim, key, tool_name, b"{}", "", agent_name)
            refused = await caller.ask(frame)
            assert isinstance(refused, AgioError)
            assert refused.code == NOT_ALLOWED
        assert scene.acts == []
        await caller.ask(wire.Use(caller.number, job.claim, key, "secret", b"{}", "", "mate"))
        assert scene.acts == ["secret"]


Speak: TypeAlias = Callable[[Scene, Caller], Coroutine[Any, Any, object]]


async def _ask_first(scene: Scene, caller: Caller) -> object:
    return await caller.ask(wire.Write(caller.number, scene.anns.claim, scene.write(scene.anns)))


async def _greet_twice(scene: Scene, caller: Caller) -> object:
    assert isinstance(await scene.greet(caller, 0), Welcome)
    return await scene.greet(caller, 0)


@pytest.mark.parametrize("speak", [_ask_first, _greet_twice])
async def test_a_link_that_is_not_spoken_as_agreed_is_closed(speak: Speak) -> None:
    """R7: asking before greeting, greeting twice; the runs of others go on."""
    async with _scene("websocket") as scene:
        before = await scene.state()
        assert await speak(scene, await scene.knock("wrk_rude")) is None
        assert (await scene.state())[2:] == before[2:]


@pytest.mark.parametrize(
    "key", ["", "x" * 40, KEY[:-1], KEY + "x", KEY.upper(), "agiow_" + "a" * 43, "é" * 30]
)
async def test_a_key_that_is_not_known_opens_no_link(key: str) -> None:
    """R7: nor does a good one of another kind, or in another scheme."""
    async with _scene("websocket") as scene:
        address = scene.url.replace("http", "ws") + "/link"
        for headers in ({"authorization": f"Bearer {key}"}, {"authorization": f"Basic {KEY}"}, {}):
            with pytest.raises((InvalidStatus, UnicodeEncodeError)):
                await connect(address, additional_headers=headers, open_timeout=60)
