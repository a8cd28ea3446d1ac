"""agno: a streamed run of its Agent, with or without its SqliteDb."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agno.agent import Agent
from agno.db.base import BaseDb
from agno.models.openai import OpenAIChat, OpenAIResponses
from agno.run.agent import RunEvent, RunOutput
from measure import API_KEY, INSTRUCTIONS, MODEL, QUESTION, Options, Seen, Subject, add, serve

MODELS = {"chat": OpenAIChat, "responses": OpenAIResponses}


def open_store(path: str) -> BaseDb:
    """Imported here so that SQLAlchemy does not count for a run without a store."""
    from agno.db.sqlite import SqliteDb

    return SqliteDb(db_file=path)


@asynccontextmanager
async def open_subject(options: Options) -> AsyncIterator[Subject]:
    agent = Agent(
        name="bench",
        model=MODELS[options.wire](id=MODEL, base_url=options.base_url, api_key=API_KEY),
        instructions=INSTRUCTIONS,
        tools=[add],
        db=open_store(options.store) if options.store else None,
        telemetry=False,
    )

    async def run() -> Seen:
        deltas: list[str] = []
        final = ""
        session_id = uuid.uuid4().hex
        async for event in agent.arun(QUESTION, stream=True, yield_run_output=True, session_id=session_id):
            if isinstance(event, RunOutput):
                final = event.content
            elif event.event == RunEvent.run_content and event.content:
                deltas.append(event.content)
        return Seen(deltas, final)

    yield Subject(run)


serve(open_subject, ["agno", "openai", "pydantic", "sqlalchemy"])
