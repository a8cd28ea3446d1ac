"""The demo agent: works without a key or a network and shows what a run looks like."""

from agio.core.store.records import AgentFields, AgentTool
from agio.core.tool import AnyTool, ToolContext, tool
from agio.tools.calculator import calculator
from agio.tools.clock import clock

NAME = "demo"
MODEL = "demo:demo"
INSTRUCTIONS = "You are the demo agent of agio. Show what an agent can do, and say that you are a demo."


@tool(approval="ask")
def send_postcard(context: ToolContext, to: str, text: str) -> str:
    """Send a postcard. Nothing is really sent: this shows how a person is asked first.

    Args:
        to: Who gets it.
        text: What it says.
    """
    context.progress("writing", 0.5)
    context.progress("posting", 1.0)
    return f'A postcard to {to} would now be on its way: "{text}"'


TOOLS: list[AnyTool] = [calculator, clock, send_postcard]


def demo_agent(name: str = NAME) -> AgentFields:
    """Return the demo agent as a team is given it."""
    provider, _, model = MODEL.partition(":")
    return AgentFields(
        name=name,
        description="Works without a key or a network, and shows what a run looks like.",
        system_prompt=INSTRUCTIONS,
        model_provider=provider,
        model_name=model,
        tools=[AgentTool(each.name) for each in TOOLS],
    )
