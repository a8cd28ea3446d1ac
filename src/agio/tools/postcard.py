"""The tool `send_postcard` of the demo agent: shows how a run waits for approval."""

from agio.core.tool import ToolContext, tool


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
