"""The team the faults are thrown at: its tools write down when they act, and the disk keeps it."""

import importlib
import importlib.util
import os
import time
from pathlib import Path

from agio import Agent, ToolContext, tool

LEDGER = Path(os.environ["CRASH_LEDGER"])


def reach(point: str) -> None:
    """Die here if that was asked for: `crash_points` is on the path only while faults are thrown."""
    if importlib.util.find_spec("crash_points") is not None:
        importlib.import_module("crash_points").reach(point)


def write_down(what: str, name: str, context: ToolContext) -> None:
    """Add a line to the ledger, all or nothing."""
    handle = os.open(LEDGER, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(handle, f"{what} {name} {context.call_id} {time.time_ns() // 1_000_000}\n".encode())
    finally:
        os.close(handle)


@tool
def pay(context: ToolContext, amount: int) -> str:
    """Pay: must never happen twice."""
    write_down("begin", "pay", context)
    reach("tool_started")
    write_down("end", "pay", context)
    reach("tool_finished")
    return f"paid {amount}"


@tool(effect="idempotent")
def note(context: ToolContext, text: str) -> str:
    """Note something: may happen again with the same key until it has its result."""
    write_down("begin", "note", context)
    reach("tool_started")
    write_down("end", "note", context)
    reach("tool_finished")
    return f"noted {text}"


clerk = Agent("clerk", "Look it up.", model="openai-chat:test", tools=[note])
teller = Agent("teller", "Tell.", model="openai-chat:test", tools=[note])
agent = Agent(
    "crash",
    "Pay, note, ask.",
    model="openai-chat:test",
    tools=[pay, note, clerk.as_tool()],
    handoffs=[teller],
)
teller.handoffs.append(agent)
