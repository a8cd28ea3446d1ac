"""Short ways to get a store into a situation: an agent, a session, a message, a run that ends."""

from collections.abc import Sequence

from msgspec import UNSET, Struct, structs

from agio.core.store.jobs import NewJob
from agio.core.store.records import (
    Accepted,
    AgentFields,
    AgentRecord,
    ClaimBy,
    Claimed,
    Limits,
    OnBusy,
    SessionRecord,
    SessionStart,
    Submission,
)
from agio.core.store.repository import Append, Charge, Outcome, Question, RunStatus, ToolBegin, ToolEnd
from agio.core.store.store import Store
from agio.protocol.codec import encode
from agio.protocol.events import Custom, Interrupt
from agio.protocol.frames import Frame
from agio.protocol.ids import new_id
from agio.protocol.messages import AssistantMessage, Message, ResumeEntry, UserMessage

LIMITS = Limits()
WORKER = ClaimBy("worker-1", b"token-1")


class Person(Struct, frozen=True):
    """A user of a tenant, at a store."""

    store: Store
    tenant: str = "default"
    user: str = "local"

    async def agent(self, name: str = "helper", **fields: object) -> AgentRecord:
        """Add an agent."""
        return await self.store.create_agent(self.tenant, agent_fields(name, **fields))

    async def session(
        self, agent: AgentRecord | None = None, *, on_busy: OnBusy = "queue", alias: str | None = None
    ) -> SessionRecord:
        """Begin a session, with an agent of its own unless one is given."""
        agent = agent or await self.agent(new_id("agt"))
        return await self.store.start_session(self.tenant, self.user, agent.id, on_busy=on_busy, alias=alias)

    async def send(
        self,
        session: SessionRecord | str,
        text: str | None = "hello",
        *,
        messages: Sequence[Message] = (),
        resume: Sequence[ResumeEntry] = (),
        key: str | None = None,
        digest: bytes = b"",
        alias: str | None = None,
        on_busy: OnBusy | None = None,
        claim: ClaimBy | None = None,
        code_agents: Sequence[str] = (),
        start: SessionStart | None = None,
        api_key: str = "",
        parent: str | None = None,
        copy_of: str | None = None,
        definition: AgentFields | None = None,
        limits: Limits = LIMITS,
    ) -> Accepted:
        """Send a message, or what is given instead of its text."""
        spoken: list[Message] = [] if text is None else [UserMessage(id=new_id("msg"), content=text)]
        given = Submission(
            session_id=session if isinstance(session, str) else session.id,
            run_id=new_id("run"),
            messages=[*spoken, *messages],
            resume=resume,
            idempotency_key=key,
            digest=digest,
            alias=alias,
            on_busy=on_busy,
            claim=claim,
            code_agents=code_agents,
            start=start,
            key_id=api_key,
            parent_run_id=parent,
            copy_of=copy_of,
            definition=definition,
        )
        return await self.store.accept(self.tenant, self.user, given, limits)

    async def session_now(self, session: SessionRecord) -> SessionRecord:
        """A session as it stands."""
        return await self.store.get_session(self.tenant, self.user, session.id)

    async def questions(self, session: SessionRecord) -> list[tuple[str, str]]:
        """A session's questions and their states, newest first."""
        found = await self.store.list_interrupts(self.tenant, self.user, session.id)
        return [(asked.id, asked.state) for asked in found]


async def person(store: Store, tenant: str = "default", user: str = "local") -> Person:
    """Somebody at the store, who is added if need be."""
    await store.add_tenant(tenant, tenant.title())
    await store.add_user(tenant, user, user.title(), "member")
    return Person(store, tenant, user)


def agent_fields(name: str = "helper", **fields: object) -> AgentFields:
    """What is said of an agent."""
    said = AgentFields(name=name, system_prompt="Help.", model_provider="demo", model_name="demo")
    return structs.replace(said, **fields)


def events(run_id: str, epoch: int, first_seq: int, count: int) -> Frame:
    """A frame of events whose content follows from its arguments."""
    lines = [
        encode(Custom("note", {"run": run_id, "seq": seq})) + b"\n"
        for seq in range(first_seq, first_seq + count)
    ]
    return Frame(run_id, epoch, first_seq, count, b"".join(lines))


async def claim(store: Store, *, code_agents: Sequence[str] = (), queued_before: int = 0) -> Claimed:
    """Claim the next run, which there must be."""
    claimed = await store.claim_next(WORKER, LIMITS, code_agents=code_agents, queued_before=queued_before)
    assert claimed is not None
    return claimed


async def nothing_to_claim(store: Store, limits: Limits = LIMITS) -> bool:
    """Whether no run may run now."""
    return await store.claim_next(WORKER, limits) is None


async def end(
    store: Store,
    claimed: Claimed,
    status: RunStatus = "completed",
    *,
    after: int | None = None,
    outcome: Outcome | None = None,
    begins: Sequence[ToolBegin] = (),
    ends: Sequence[ToolEnd] = (),
    charge: Charge | None = None,
) -> None:
    """End a run that has events up to `after`: with its last one."""
    info = claimed.info
    seq = info.last_seq if after is None else after
    frame = events(info.run_id, info.epoch, seq + 1, 1)
    await store.append(Append(frame, (), status, begins=begins, ends=ends, outcome=outcome, charge=charge))


async def answer(store: Store, claimed: Claimed, text: str = "hi") -> None:
    """End a run with an assistant's message."""
    message = AssistantMessage(id=f"msg_of_{claimed.info.run_id}", content=text)
    await end(store, claimed, outcome=Outcome(messages=[message]))


async def interrupt(store: Store, claimed: Claimed, *ids: str, expires_at: str | None = None) -> None:
    """End a run with questions."""
    questions = [
        Question(
            Interrupt(name, "tool_call", "May I?", f"call_{name}", expires_at=expires_at or UNSET),
            "pay",
            '{"n": 1}',
        )
        for name in ids
    ]
    await end(store, claimed, "interrupted", outcome=Outcome(questions=questions))


async def dead_job(store: Store, tenant: str, kind: str) -> str:
    """Add a job of a kind that nothing runs, which has failed."""
    await store.add_job(NewJob(kind=kind, key=kind, tenant=tenant, payload=kind.encode()))
    job = await store.claim_job([kind], 60_000)
    assert job is not None
    await store.fail_job(job, "internal_error", f"{kind} failed", None)
    return job.id
