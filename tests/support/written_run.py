"""A run whose log a test writes itself: committed to a real store, then published, as the recorder does."""

from agio.core.store.records import AgentFields, ClaimBy, EventSlice, Limits, SessionRecord, Submission
from agio.core.store.repository import Append, Outcome
from agio.core.store.store import Store
from agio.gateway.stream.hub import Hub
from agio.protocol.codec import encode
from agio.protocol.events import AgentEvent, Custom, RunFinished
from agio.protocol.frames import Frame
from agio.protocol.ids import new_id
from agio.protocol.messages import UserMessage

TENANT, USER = "default", "local"


async def new_session(store: Store) -> SessionRecord:
    """Start a session with a new agent."""
    fields = AgentFields(
        name=new_id("run"), system_prompt="Be brief.", model_provider="demo", model_name="demo"
    )
    agent = await store.create_agent(TENANT, fields)
    return await store.start_session(TENANT, USER, agent.id)


class WrittenRun:
    """A running run of a session. `seq` is its last event's."""

    def __init__(self, store: Store, hub: Hub, session_id: str) -> None:
        self.store = store
        self.hub = hub
        self.session_id = session_id
        self.run_id = new_id("run")
        self.seq = 0

    async def start(self) -> "WrittenRun":
        """Have it accepted and claimed: its first event is there."""
        given = Submission(
            session_id=self.session_id,
            run_id=self.run_id,
            messages=[UserMessage(id=new_id("msg"), content="Go")],
            claim=ClaimBy("w1", b"hash"),
        )
        accepted = await self.store.accept(TENANT, USER, given, Limits())
        assert accepted.claimed is not None
        self.info = accepted.claimed.info
        self.seq = 1
        self.hub.publish(
            self.session_id, EventSlice(self.run_id, self.info.first_pos + 1, 1, accepted.claimed.started)
        )
        return self

    async def write(self, count: int = 1, size_bytes: int = 20) -> EventSlice:
        """Commit events in one frame and publish them."""
        chunk = await self.commit_custom(count, size_bytes)
        self.hub.publish(self.session_id, chunk)
        return chunk

    async def commit_custom(self, count: int, size_bytes: int = 20) -> EventSlice:
        """Commit events in one frame, and publish nothing."""
        return await self.commit([Custom(name="test", value="x" * size_bytes) for _ in range(count)])

    async def finish(self) -> EventSlice:
        """End the run."""
        done = RunFinished(thread_id=self.session_id, run_id=self.run_id)
        chunk = await self.commit([done], end=True)
        self.hub.publish(self.session_id, chunk)
        return chunk

    async def commit(self, events: list[AgentEvent], *, end: bool = False) -> EventSlice:
        """Commit events in one frame, and publish nothing."""
        lines: list[bytes] = []
        for seq, event in enumerate(events, self.seq + 1):
            event.metadata = {"run": self.run_id, "seq": seq}
            lines.append(encode(event) + b"\n")
        payload = b"".join(lines)
        frame = Frame(self.run_id, self.info.epoch, self.seq + 1, len(events), payload)
        await self.store.append(Append(frame, end="completed", outcome=Outcome()) if end else Append(frame))
        chunk = EventSlice(self.run_id, self.info.first_pos + self.seq + 1, len(events), payload)
        self.seq += len(events)
        return chunk
