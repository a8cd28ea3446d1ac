"""Custom tools: parallel calls, progress, a person's approval, a failure the model can mend. Offline, with a script.

python examples/custom_tools.py
"""

import asyncio

from agio import Agent, ResumeEntry, Run, ToolContext, tool
from agio.drivers.scripted import ScriptedCall, ScriptedDriver, ScriptedTurn
from agio.protocol.events import Custom, ToolCallResult
from agio.protocol.messages import json_object

STOCK = {"apples": 12, "pears": 0}


@tool(effect="read")
async def stock(article: str) -> int:
    """Say how many of an article there are."""
    if article not in STOCK:
        raise LookupError(f"we do not sell {article}; we sell {', '.join(STOCK)}")
    return STOCK[article]


@tool(approval="ask", timeout_s=10)
def order(context: ToolContext, article: str, amount: int) -> dict[str, object]:
    """Order an article from the wholesaler."""
    context.progress("calling the wholesaler", 0.5)
    STOCK[article] += amount
    return {"ordered": amount, "in_stock": STOCK[article]}


LOOK = [ScriptedCall("stock", {"article": article}) for article in ("apples", "pears", "plums")]
BUY = [ScriptedCall("order", {"article": "pears", "amount": 500})]
SCRIPT = [ScriptedTurn(calls=LOOK), ScriptedTurn(calls=BUY), ScriptedTurn(text="Pears are on their way.")]


async def watch(run: Run) -> None:
    async for event in run:
        if isinstance(event, ToolCallResult):
            print(f"  result: {event.content}")
        elif isinstance(event, Custom) and event.name == "agio.tool_progress":
            print(f"  progress: {json_object(event.value)['message']}")


async def main() -> None:
    async with Agent("grocer", model=ScriptedDriver(SCRIPT), tools=[stock, order]) as agent:
        run = agent.arun_stream("Check the fruit and order what is missing.")
        await watch(run)
        (question,) = (await run.result()).interrupts
        print("  " + str(question.message), "Yes, but only 20.")
        edited = {"approved": True, "editedArgs": {"article": "pears", "amount": 20}}
        answer = ResumeEntry(question.id, "resolved", edited)
        run = agent.arun_stream(thread_id=run.thread_id, resume=[answer])
        await watch(run)
        print((await run.result()).text)


asyncio.run(main())
