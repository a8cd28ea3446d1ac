"""The demo agent: needs no key and no network, and shows what a run looks like."""

from agio.core.store.records import AgentFields, AgentTool
from agio.core.tool import AnyTool
from agio.tools.calculator import calculator
from agio.tools.clock import clock
from agio.tools.postcard import send_postcard

NAME = "demo"
MODEL = "demo:demo"
INSTRUCTIONS = "You are the demo agent of agio. Show what an agent can do, and say that you are a demo."
TOOLS: list[AnyTool] = [calculator, clock, send_postcard]


def demo_agent(name: str = NAME) -> AgentFields:
    """Return the definition of the demo agent."""
    provider, _, model = MODEL.partition(":")
    return AgentFields(
        name=name,
        description="Works without a key or a network, and shows what a run looks like.",
        system_prompt=INSTRUCTIONS,
        model_provider=provider,
        model_name=model,
        tools=[AgentTool(each.name) for each in TOOLS],
    )
