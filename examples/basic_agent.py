"""A basic agent: one question, streamed. Works offline; give a model to use a real one.

python examples/basic_agent.py
python examples/basic_agent.py --model openai:gpt-5 "What is 17 * 23, and what day is it?"
"""

import argparse
import asyncio
import sys

from agio import Agent
from agio.protocol import events as ev
from agio.tools.calculator import calculator
from agio.tools.clock import clock

DIM, PLAIN = ("\033[2m", "\033[0m") if sys.stdout.isatty() else ("", "")


def show(event: ev.AgentEvent) -> None:
    match event:
        case ev.ReasoningMessageChunk(delta=str(delta)):
            print(DIM + delta + PLAIN, end="", flush=True)
        case ev.TextMessageChunk(delta=str(delta)):
            print(delta, end="", flush=True)
        case ev.ToolCallStart(tool_call_name=name):
            print(f"\n  -> {name} ", end="")
        case ev.ToolCallArgs(delta=delta):
            print(delta, end="")
        case ev.ToolCallResult(content=content):
            print(f"\n  <- {content}")
        case ev.RunError(message=message, code=code):
            print(f"\nThe run failed: {message} [{code}]")
        case _:
            pass


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("question", nargs="?", default="What is 17 * 23?")
    parser.add_argument("--model", default="demo:demo", help="provider:model")
    options = parser.parse_args()
    async with Agent(
        "basic", "Be brief. Use your tools.", model=options.model, tools=[calculator, clock]
    ) as agent:
        print(f"> {options.question}")
        run = agent.arun_stream(options.question)
        async for event in run:
            show(event)
        result = await run.result()
        print(f"\n\n{result.status}, {result.usage.input} tokens in, {result.usage.output} out")


asyncio.run(main())
