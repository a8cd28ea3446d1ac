"""Fill a new store of ours with finished runs: `fill_store.py PATH RUNS`.

The first thousand go through the store's own commits; the others are copies of their rows under other ids.
"""

import asyncio
import sys
from pathlib import Path

import apsw
import msgspec

from agio.core.identity.principal import DEFAULT_TENANT, LOCAL_USER
from agio.core.model import Usage, VendorTurn
from agio.core.store.records import AgentRecord, ClaimBy, Limits, Submission
from agio.core.store.repository import Append, Outcome, ToolBegin, ToolEnd, TurnRecord
from agio.core.store.store import Store
from agio.db.repository import open_store
from agio.protocol.events import RunFinished, TextMessageChunk
from agio.protocol.frames import Frame
from agio.protocol.ids import new_id
from agio.protocol.messages import AssistantMessage, UserMessage
from agio.worker.app import load_app

WRITTEN = 1000
AT_ONCE = 100
TOKENS = 20
NO_LIMITS = Limits(10_000, 10_000, queued_per_tenant=100_000, queued_per_user=100_000)
TABLES = ("agent_sessions", "runs", "logs", "turns", "tool_executions", "agent_session_messages")
NUMBERS = "with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)"

encode = msgspec.json.Encoder().encode


async def write_runs(path: Path, runs: int) -> None:
    store = await open_store(path)
    try:
        await store.add_tenant(DEFAULT_TENANT, "Default")
        await store.add_user(DEFAULT_TENANT, LOCAL_USER, "Local user", "owner")
        [agent] = await store.put_code_agents(DEFAULT_TENANT, load_app("agio_app").agent_fields())
        for begun in range(0, runs, AT_ONCE):
            await asyncio.gather(*(write_run(store, agent) for _ in range(min(AT_ONCE, runs - begun))))
    finally:
        await store.close()


async def write_run(store: Store, agent: AgentRecord) -> None:
    """A session, a message, a tool call, an answer: what a run of the benchmark leaves."""
    session = await store.start_session(DEFAULT_TENANT, LOCAL_USER, agent.id, alias=new_id("thr"))
    given = Submission(
        session_id=session.id,
        run_id=new_id("run"),
        messages=[UserMessage(id=new_id("msg"), content="What is 2+3?")],
        alias=new_id("run"),
        claim=ClaimBy("filler", b"0" * 32),
        code_agents=[agent.name],
    )
    accepted = await store.accept(DEFAULT_TENANT, LOCAL_USER, given, NO_LIMITS)
    info = accepted.claimed.info
    answer = AssistantMessage(id=new_id("msg"), content=" word" * TOKENS)
    events = [
        *(TextMessageChunk(message_id=answer.id, delta=" word") for _ in range(TOKENS)),
        RunFinished(thread_id=session.id, run_id=info.run_id),
    ]
    first, last = info.last_seq + 1, info.last_seq + len(events)
    lines = b"".join(encode(event) + b"\n" for event in events)
    turn = TurnRecord(info.run_id, 1, last - 1, info.model, "end", Usage(), VendorTurn("openai-chat", []))
    call = new_id("call")
    await store.append(
        Append(
            Frame(info.run_id, info.epoch, first, len(events), lines),
            turns=[turn],
            end="completed",
            begins=[ToolBegin(call, "add")],
            ends=[ToolEnd(call)],
            outcome=Outcome(messages=[answer]),
        )
    )


def copy_runs(path: Path, times: int) -> None:
    """Copy every session and run; the last four characters of an id say which copy it is."""
    store = apsw.Connection(str(path))
    with store:
        for table in TABLES:
            columns = [str(row[1]) for row in store.execute(f"pragma table_info({table})")]
            values = ", ".join(_copied(table, column) for column in columns)
            store.execute(
                f"create temp table copies as {NUMBERS} select {values} from n cross join {table} t", (times,)
            )
            store.execute(f"insert into {table} ({', '.join(columns)}) select * from copies")
            store.execute("drop table copies")
    store.close()


def _copied(table: str, column: str) -> str:
    if column == "number":
        return "null as number"
    if column in ("run_id", "session_id", "alias") or (table, column) == ("agent_sessions", "id"):
        return f"substr(t.{column}, 1, length(t.{column}) - 4) || printf('%04d', n.i) as {column}"
    return f"t.{column}"


if __name__ == "__main__":
    store_path, count = Path(sys.argv[1]), int(sys.argv[2])
    asyncio.run(write_runs(store_path, min(count, WRITTEN)))
    if count > WRITTEN:
        copy_runs(store_path, count // WRITTEN - 1)
