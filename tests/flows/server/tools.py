"""The tools of the worker's own module in the flow tests, and what they did."""

import asyncio

from agio import ToolContext, tool
from agio.core.tool import AnyTool
from agio.worker.app import App

paid: list[str] = []
"""The calls `pay` acted for."""


@tool(effect="idempotent")
def add(context: ToolContext, a: int, b: int) -> int:
    """Add two numbers."""
    context.progress("adding", 0.5)
    return a + b


@tool(approval="ask")
def pay(context: ToolContext, amount: int, to: str = "nobody") -> str:
    """Pay somebody."""
    paid.append(context.call_id)
    return f"paid {amount} to {to}"


@tool
def buy(context: ToolContext, what: str) -> str:
    """Buy something, without asking."""
    paid.append(context.call_id)
    return f"bought {what}"


@tool(effect="read")
def fail(why: str) -> str:
    """Fail."""
    raise ValueError(why)


@tool(effect="read")
async def wait() -> str:
    """Wait for what never comes."""
    await asyncio.Event().wait()
    return ""


TOOLS: list[AnyTool] = [add, pay, buy, fail, wait]
APP = App(tools={entry.name: entry for entry in TOOLS})
