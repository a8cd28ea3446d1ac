"""agno's own server, AgentOS, with its AG-UI interface and its SqliteDb on disk."""

import work
from agno.agent import Agent
from agno.db.sqlite import SqliteDb
from agno.models.openai import OpenAIChat
from agno.os import AgentOS
from agno.os.interfaces.agui import AGUI

agent = Agent(
    id="bench",
    name="bench",
    model=OpenAIChat(id=work.MODEL, base_url=work.BASE_URL, api_key=work.API_KEY),
    instructions=work.INSTRUCTIONS,
    tools=[work.add],
    db=SqliteDb(db_file=work.STORE),
    telemetry=False,
)
app = AgentOS(agents=[agent], interfaces=[AGUI(agent=agent)], telemetry=False).get_app()
