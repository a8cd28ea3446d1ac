"""Agents of the OpenAI Agents SDK: served by agio with a durable log, and a script's session in agio's store.

Needs the extra `openai-agents`. In a checkout, after `make run`:

.venv/bin/pip install '.[openai-agents]'
.venv/bin/python examples/agents_sdk.py             offline, with the demo model
.venv/bin/agio serve --app examples/agents_sdk.py   the same agents in the web app
"""

import asyncio
import tempfile
from pathlib import Path

from agents import Agent, Runner, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message

from agio import AgioSession, SdkAgent
from agio.testing import serving


@function_tool
def calculator(expression: str) -> str:
    """Multiply two numbers."""
    left, right = expression.split("*")
    return str(int(left) * int(right))


billing = Agent("billing", instructions="Handle money.", model="demo:demo")
desk = Agent("desk", instructions="Greet people.", model="demo:demo", tools=[calculator], handoffs=[billing])


async def serve() -> None:
    """What `agio serve --app` does, in this process."""
    async with serving(agents=[SdkAgent(desk), SdkAgent.of(billing)]) as client:
        print(await client.ask("desk", "what is 6 * 7?"))
        print(await client.ask("desk", "transfer_to_billing, please"))


async def script() -> None:
    """The SDK's own Runner, with a conversation that outlives the program."""
    set_tracing_disabled(True)
    with tempfile.TemporaryDirectory() as folder:
        for answer in ("Nice to meet you, Ada.", "You are Ada."):
            guide = Agent("guide", model=ScriptedModel([[assistant_message(answer)]]))
            async with AgioSession("talk", store=Path(folder) / "talks.db") as session:
                result = await Runner.run(guide, "I am Ada. Who am I?", session=session)
                print(result.final_output, len(await session.get_items()), "items kept")


if __name__ == "__main__":
    asyncio.run(serve())
    asyncio.run(script())
