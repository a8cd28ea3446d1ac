"""agio: a streamed run of Agent, its log on disk."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from measure import API_KEY, INSTRUCTIONS, MODEL, QUESTION, Options, Seen, Subject, Unverified, add, serve

from agio import Agent, RunFinished, RunStarted, TextMessageChunk, tool

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


async def check_logs(agent: Agent, streamed: dict[str, str]) -> None:
    """Compare the logs of runs with the answers that were streamed. Raises Unverified."""
    for run_id, text in streamed.items():
        log = await agent.get_run_history(run_id)
        logged = [event.delta for event in log if isinstance(event, TextMessageChunk) and event.delta]
        if "".join(logged) != text or not isinstance(log[-1], RunFinished):
            raise Unverified(f"the log of run {run_id} is not what was streamed")


@asynccontextmanager
async def open_subject(options: Options) -> AsyncIterator[Subject]:
    agent = make_agent(options)
    streamed: dict[str, str] = {}
    kept: dict[str, str] = {}

    async def run() -> Seen:
        deltas: list[str] = []
        run_id = ""
        finished = False
        async for event in agent.arun_stream(QUESTION):
            if isinstance(event, TextMessageChunk) and event.delta:
                deltas.append(event.delta)
            elif isinstance(event, RunStarted):
                run_id = event.run_id
            elif isinstance(event, RunFinished):
                finished = True
        final = "".join(deltas) if finished else ""
        streamed[run_id] = final
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


serve(open_subject, ["agio", "aiohttp", "apsw", "msgspec"])
