"""History and replay: runs in a file, a continued conversation, a retracted answer, a replay.

python examples/history_and_replay.py [runs.db]
"""

import asyncio
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

from agio import Agent, Custom, TextMessageChunk
from agio.protocol.codec import encode
from agio.protocol.events import REWIND, AgentEvent, seq_of
from agio.protocol.messages import json_object
from agio.tools.calculator import calculator


def answer_of(events: list[AgentEvent]) -> str:
    """Put the text of a log together, taking back what was taken back."""
    pieces: dict[int, str] = {}
    for event in events:
        if isinstance(event, TextMessageChunk) and isinstance(event.delta, str):
            pieces[seq_of(event)] = event.delta
        elif isinstance(event, Custom) and event.name == REWIND:
            kept = json_object(event.value)["to_seq"]
            pieces = {seq: piece for seq, piece in pieces.items() if isinstance(kept, int) and seq <= kept}
    return "".join(pieces.values())


async def main(store: Path) -> None:
    async with Agent("historian", model="demo:demo", tools=[calculator], store=store) as agent:
        first = agent.arun_stream("What is 3 * 4?")
        streamed = [event async for event in first]
        await agent.arun_stream("Now be flaky.", thread_id=first.thread_id).result()

    # Another agent, as after a restart: everything is in the file.
    async with Agent("historian", model="demo:demo", tools=[calculator], store=store) as agent:
        runs = await agent.list_runs(thread_id=first.thread_id)
        print(f"{len(runs)} runs in {store.name}, newest first:")
        for info in runs:
            print(f"  {info.run_id}  {info.status}  {info.last_seq:3} events  {info.title}")

        replayed = await agent.get_run_history(first.run_id)
        same = [encode(event) for event in replayed] == [encode(event) for event in streamed]
        print(f"\nThe replay of the first run is byte-identical to its stream: {same}")

        history = await agent.get_run_history(runs[0].run_id)
        print(f"The answer of the newest, from its log: {answer_of(history)}")

        print("\nThe first run again, at its own speed:")
        for before, event in pairwise(replayed):
            await asyncio.sleep(max(0, int(event.timestamp or 0) - int(before.timestamp or 0)) / 1000)
            print(answer_of([event]), end="", flush=True)
        print()


with tempfile.TemporaryDirectory() as folder:
    asyncio.run(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "runs.db"))
