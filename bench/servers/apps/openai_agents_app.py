"""openai-agents behind FastAPI: server-sent events, its SQLiteSession on disk, one session a conversation."""

import json
from collections.abc import AsyncIterator

import work
from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    SQLiteSession,
    function_tool,
    set_tracing_disabled,
)
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from openai import AsyncOpenAI
from openai.types.responses import ResponseTextDeltaEvent
from pydantic import BaseModel

MODELS = {"chat": OpenAIChatCompletionsModel, "responses": OpenAIResponsesModel}

set_tracing_disabled(True)
client = AsyncOpenAI(base_url=work.BASE_URL, api_key=work.API_KEY)
model = MODELS[work.WIRE](model=work.MODEL, openai_client=client)
agent = Agent(name="bench", instructions=work.INSTRUCTIONS, model=model, tools=[function_tool(work.add)])
app = FastAPI()


class Message(BaseModel):
    session_id: str
    message: str


@app.post("/run")
async def run(message: Message) -> StreamingResponse:
    return StreamingResponse(stream(message), media_type="text/event-stream")


async def stream(message: Message) -> AsyncIterator[str]:
    session = SQLiteSession(message.session_id, work.STORE)
    try:
        result = Runner.run_streamed(agent, message.message, session=session)
        async for event in result.stream_events():
            if event.type == "raw_response_event":
                if isinstance(event.data, ResponseTextDeltaEvent):
                    yield line({"type": "text", "delta": event.data.delta})
            elif event.type == "run_item_stream_event":
                yield line({"type": event.name})
        yield line({"type": "end", "length": len(result.final_output)})
    finally:
        session.close()


def line(event: dict[str, object]) -> str:
    return f"data: {json.dumps(event, separators=(',', ':'))}\n\n"
