"""agio: what `agio serve --app agio_app` serves."""

import work

from agio import Agent, tool

agent = Agent("bench", work.INSTRUCTIONS, model=f"openai-chat:{work.MODEL}", tools=[tool(work.add)])
