"""pydantic-ai: a run streamed event by event. It has no store of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from measure import API_KEY, INSTRUCTIONS, MODEL, QUESTION, Options, Seen, Subject, add, serve
from openai import AsyncOpenAI
from pydantic_ai import Agent, AgentRunResultEvent, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

MODELS = {"chat": OpenAIChatModel, "responses": OpenAIResponsesModel}


@asynccontextmanager
async def open_subject(options: Options) -> AsyncIterator[Subject]:
    client = AsyncOpenAI(base_url=options.base_url, api_key=API_KEY)
    model = MODELS[options.wire](MODEL, provider=OpenAIProvider(openai_client=client))
    agent = Agent(model, instructions=INSTRUCTIONS, tools=[add])

    async def run() -> Seen:
        deltas: list[str] = []
        final = ""
        async with agent.run_stream_events(QUESTION) as events:
            async for event in events:
                match event:
                    case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
                        deltas.append(text)
                    case PartStartEvent(part=TextPart(content=text)) if text:
                        deltas.append(text)
                    case AgentRunResultEvent(result=result):
                        final = result.output
        return Seen(deltas, final)

    async with client:
        yield Subject(run)


serve(open_subject, ["pydantic-ai-slim", "openai", "pydantic"])
