"""agio: a streamed run of Agent, its log on disk."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from measure import API_KEY, INSTRUCTIONS, MODEL, QUESTION, Options, Seen, Subject, Unverified, add, serve

from agio import Agent, RunError, RunFinished, RunStarted, TextMessageChunk, tool

PROVIDERS = {"chat": "openai-chat", "responses": "openai"}


KEPT = 100
"""Runs to read again from the closed and reopened store."""


def make_agent(options: Options) -> Agent:
    return Agent(
        "bench",
        INSTRUCTIONS,
        model=f"{PROVIDERS[options.wire]}:{MODEL}",
        tools=[tool(add)],
        base_url=options.base_url,
        api_key=API_KEY,
        store=options.store,
    )


class Streamed(NamedTuple):
    """What a run's log must hold."""

    events: int
    text: str


async def check_logs(agent: Agent, streamed: dict[str, Streamed]) -> None:
    """Compare the logs of runs with what was streamed of them. Raises Unverified."""
    for run_id, expected in streamed.items():
        log = await agent.get_run_history(run_id)
        deltas = [event.delta for event in log if isinstance(event, TextMessageChunk) and event.delta]
        if Streamed(len(log), "".join(deltas)) != expected or not isinstance(log[-1], RunFinished):
            raise Unverified(f"the log of run {run_id} is not what was streamed")


@asynccontextmanager
async def open_subject(options: Options) -> AsyncIterator[Subject]:
    agent = make_agent(options)
    streamed: dict[str, Streamed] = {}
    kept: dict[str, Streamed] = {}

    async def run() -> Seen:
        deltas: list[str] = []
        run_id = final = ""
        events = 0
        async for event in agent.arun_stream(QUESTION):
            events += 1
            if isinstance(event, TextMessageChunk):
                if event.delta:
                    deltas.append(event.delta)
            elif isinstance(event, RunStarted):
                run_id = event.run_id
            elif isinstance(event, RunFinished):
                final = "".join(deltas)
            elif isinstance(event, RunError):
                raise Unverified(event.message)
        streamed[run_id] = Streamed(events, final)
        return Seen(deltas, final)

    async def verify() -> None:
        await check_logs(agent, streamed)
        kept.update(list(streamed.items())[-KEPT:])
        streamed.clear()

    try:
        yield Subject(run, verify)
    finally:
        await agent.aclose()
    reopened = make_agent(options)
    try:
        await check_logs(reopened, kept)
    finally:
        await reopened.aclose()


serve(open_subject, ["agio", "apsw", "httptools", "msgspec"])
