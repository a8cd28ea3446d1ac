"""The `complete_goal` tool: its declaration, and the check of the arguments with which the model calls it."""

from typing import cast

import msgspec

from agio.core.model import ToolSpec
from agio.core.run.lane import COMPLETE_GOAL
from agio.core.schema.schema import OutputType, Schema
from agio.core.tool import ToolAnswer
from agio.protocol.messages import Json, json_object


def goal_tool(output: OutputType | None) -> ToolSpec:
    """Return the declaration of `complete_goal`. With an output type, the tool also takes the agent's output."""
    properties: dict[str, Json] = {
        "summary": {"type": "string", "description": "What was achieved, in a sentence or two."}
    }
    if output is not None:
        properties["output"] = output.schema
    schema: Schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return ToolSpec(COMPLETE_GOAL, "Call this once the goal is met, and only then. It ends the run.", schema)


def check_goal(arguments: str, output: OutputType | None) -> ToolAnswer:
    """Check a call of `complete_goal`. Invalid arguments become a tool error that the model sees."""
    try:
        given = json_object(cast(Json, msgspec.json.decode(arguments)))
        if not isinstance(given.get("summary"), str):
            return _refused("it needs a summary, which is text")
        if unknown := set(given) - ({"summary", "output"} if output is not None else {"summary"}):
            return _refused(f"it does not take {', '.join(sorted(unknown))}")
        if output is not None:
            output.accept(given.get("output"))
    except (ValueError, RecursionError) as error:
        return _refused(str(error))
    return ToolAnswer("The goal is marked as met.")


def _refused(problem: str) -> ToolAnswer:
    return ToolAnswer(f"The arguments do not fit {COMPLETE_GOAL}: {problem}."[:4096], "bad_arguments")
