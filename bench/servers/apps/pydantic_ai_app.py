"""pydantic-ai behind FastAPI by its AG-UI adapter. It keeps nothing: the history is the client's."""

import work
from fastapi import FastAPI, Request, Response
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.ui.ag_ui import AGUIAdapter

client = AsyncOpenAI(base_url=work.BASE_URL, api_key=work.API_KEY)
model = OpenAIChatModel(work.MODEL, provider=OpenAIProvider(openai_client=client))
agent = Agent(model, instructions=work.INSTRUCTIONS, tools=[work.add])
app = FastAPI()


@app.post("/ag-ui")
async def run(request: Request) -> Response:
    return await AGUIAdapter.dispatch_request(request, agent=agent)
