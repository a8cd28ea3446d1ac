"""LangGraph's development server runs this graph; what it keeps, it keeps in memory."""

import work
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

model = ChatOpenAI(
    model=work.MODEL, base_url=work.BASE_URL, api_key=work.API_KEY, streaming=True, use_responses_api=False
)
graph = create_agent(model, tools=[work.add], system_prompt=work.INSTRUCTIONS)
