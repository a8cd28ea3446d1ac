"""openai-agents: a streamed run of Runner, with or without its SQLiteSession."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    SQLiteSession,
    function_tool,
    set_tracing_disabled,
)
from measure import API_KEY, INSTRUCTIONS, MODEL, QUESTION, Options, Seen, Subject, add, serve
from openai import AsyncOpenAI
from openai.types.responses import ResponseTextDeltaEvent

MODELS = {"chat": OpenAIChatCompletionsModel, "responses": OpenAIResponsesModel}


@asynccontextmanager
async def open_subject(options: Options) -> AsyncIterator[Subject]:
    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=options.base_url, api_key=API_KEY)
    model = MODELS[options.wire](model=MODEL, openai_client=client)
    agent = Agent(name="bench", instructions=INSTRUCTIONS, model=model, tools=[function_tool(add)])

    async def run() -> Seen:
        session = SQLiteSession(uuid.uuid4().hex, options.store) if options.store else None
        result = Runner.run_streamed(agent, QUESTION, session=session)
        deltas = [
            event.data.delta
            async for event in result.stream_events()
            if event.type == "raw_response_event" and isinstance(event.data, ResponseTextDeltaEvent)
        ]
        if session:
            session.close()
        return Seen(deltas, result.final_output)

    async with client:
        yield Subject(run)


serve(open_subject, ["openai-agents", "openai", "pydantic"])
