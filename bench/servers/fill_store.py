"""Fill a new store of ours with finished runs, through the store's own commits: `fill_store.py PATH RUNS`."""

import asyncio
import sys
from pathlib import Path

import msgspec

from agio.core.repository import Append, Outcome
from agio.core.store import DEFAULT_TENANT, LOCAL_USER, Acceptance, ClaimBy, Limits
from agio.db.repository import open_store
from agio.protocol.events import RunFinished, TextMessageChunk
from agio.protocol.frames import Frame
from agio.protocol.ids import new_id
from agio.protocol.messages import AssistantMessage, UserMessage
from agio.worker.app import load_app

AT_ONCE = 200
TOKENS = 20
NO_LIMITS = Limits(running_per_user=10_000, running_per_tenant=10_000, queued_per_tenant=100_000)

encode = msgspec.json.Encoder().encode


async def fill(path: Path, runs: int) -> None:
    store = await open_store(path)
    [agent] = await store.put_code_agents(DEFAULT_TENANT, load_app("agio_app").agent_fields())
    left = runs

    async def add_run() -> None:
        session = await store.start_session(DEFAULT_TENANT, LOCAL_USER, agent.id)
        message = UserMessage(id=new_id("msg"), content="What is 2+3?")
        given = Acceptance(
            session_id=session.id,
            run_id=new_id("run"),
            messages=[message],
            claim=ClaimBy("filler", b"0" * 32),
        )
        accepted = await store.accept(DEFAULT_TENANT, LOCAL_USER, given, NO_LIMITS)
        answer = AssistantMessage(id=new_id("msg"), content=" word" * TOKENS)
        events = [
            *(TextMessageChunk(message_id=answer.id, delta=" word") for _ in range(TOKENS)),
            RunFinished(thread_id=session.id, run_id=accepted.run_id),
        ]
        info = accepted.claimed.info
        lines = b"".join(encode(event) + b"\n" for event in events)
        frame = Frame(info.run_id, info.epoch, info.last_seq + 1, len(events), lines)
        await store.append(Append(frame, end="completed", outcome=Outcome(messages=[answer])))

    async def add_runs() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            await add_run()

    try:
        async with asyncio.TaskGroup() as fillers:
            for _ in range(AT_ONCE):
                fillers.create_task(add_runs())
    finally:
        await store.close()


if __name__ == "__main__":
    asyncio.run(fill(Path(sys.argv[1]), int(sys.argv[2])))
