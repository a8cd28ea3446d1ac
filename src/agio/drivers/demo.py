"""The demo driver: no model and no network. It answers from rules, and says so."""

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import cast

import msgspec

from agio.core.model import (
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    ToolCallBegin,
    ToolCallDelta,
    ToolCallDone,
    ToolSpec,
    TurnEnd,
    Usage,
    VendorTurn,
)
from agio.errors import ModelError
from agio.protocol.messages import Json, ToolMessage, UserMessage, json_object, text_of

_SUM = re.compile(r"[-(]*\d[\d.,]*\)*(?:\s*(?:\*\*|//|[-+*/%^])\s*[-(]*\d[\d.,]*\)*)+")
_ZONE = re.compile(r"\b[A-Z][A-Za-z]+/[A-Z][A-Za-z_]+\b")
_MARKS = re.compile(r"^<<(?:untrusted [0-9a-f]+ [^\n]*|end [0-9a-f]+)>>\n?", re.MULTILINE)

_KNOWN = {
    "calculator": "`what is 12 * (3 + 4)?`: I call the calculator tool",
    "clock": "`what time is it in Europe/Vienna?`: I call the clock",
    "send_postcard": "`send a postcard to Ada`: a tool that asks you first",
}
"""The tools it has rules for, with what to try. It calls another tool if the message names it."""

_WELCOME = """I am the **demo model** of agio: a script, not a language model.
I work offline and show what a run looks like. Try:

{known}- `think about it`: I show my reasoning
- the name of a tool of mine, and its arguments as JSON, or words: I call it
- `be flaky`: my answer breaks half-way and is taken back
- `fail`: the run ends with an error

For answers of a language model, add a model provider in Settings; in a terminal, name a model with `--model`."""


class DemoDriver:
    """Answers from a few rules. `pace_s` is the pause between two words."""

    wire = "demo"

    def __init__(self, pace_s: float = 0.015) -> None:
        self._pace_s = pace_s
        self._broken: set[str] = set()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[ModelEvent], None]:
        """Answer the newest message."""
        question = next((m for m in reversed(request.messages) if isinstance(m, UserMessage)), None)
        text = "" if question is None else text_of(question.content)
        results = _results(request)
        said = 0
        if results:
            async for batch in self._say(_conclusion(results)):
                yield batch
        elif re.search(r"\bflaky\b", text) and question is not None:
            async for batch in self._flaky(question.id):
                yield batch
        elif re.search(r"\b(fail|crash)\b", text):
            async for batch in self._say("As you wish: this is where my answer ends."):
                yield batch
            raise ModelError("demo_failure", "The demo model failed because it was asked to.")
        else:
            thought, call = _plan(text, {tool.name: tool for tool in request.tools})
            async for batch in self._think(thought):
                yield batch
            if call is None:
                async for batch in self._say(_answer(text, request.tools)):
                    yield batch
            else:
                name, arguments = call
                encoded = msgspec.json.encode(arguments).decode()
                yield [ToolCallBegin(0, name), ToolCallDelta(0, encoded), ToolCallDone(0)]
                said = len(encoded) // 4
            usage = Usage(len(request.system) // 4 + len(text) // 4, said + 60, 0, len(thought) // 4)
            yield [TurnEnd("tool_calls" if call else "end", usage, VendorTurn(self.wire, []))]
            return
        yield [
            TurnEnd("end", Usage(len(request.system) // 4 + len(text) // 4, 40), VendorTurn(self.wire, []))
        ]

    async def _say(self, text: str) -> AsyncGenerator[Sequence[ModelEvent], None]:
        for word in re.findall(r"\s*\S+\s*$|\s*\S+", text):
            await asyncio.sleep(self._pace_s)
            yield [TextDelta(word)]

    async def _think(self, text: str) -> AsyncGenerator[Sequence[ModelEvent], None]:
        for word in re.findall(r"\s*\S+", text):
            await asyncio.sleep(self._pace_s)
            yield [ReasoningDelta(word)]

    async def _flaky(self, message_id: str) -> AsyncGenerator[Sequence[ModelEvent], None]:
        if message_id not in self._broken:
            self._broken.add(message_id)
            async for batch in self._say("This answer will not reach its"):
                yield batch
            raise ModelError(
                "stream_broken", "The demo stream dropped, as requested. Retrying.", retryable=True
            )
        async for batch in self._say(
            "The first try broke off and was taken back; this is the second, and it is whole."
        ):
            yield batch

    async def aclose(self) -> None:
        """Nothing to close."""


def _results(request: ModelRequest) -> list[ToolMessage]:
    """Return the tool results after the newest user message."""
    results: list[ToolMessage] = []
    for message in reversed(request.messages):
        if isinstance(message, UserMessage):
            break
        if isinstance(message, ToolMessage):
            results.insert(0, message)
    return results


def _conclusion(results: list[ToolMessage]) -> str:
    texts = [_MARKS.sub("", text_of(result.content)).strip("\n") for result in results]
    return (
        "The tool says: **"
        + "; ".join(texts)
        + "**\n\n(This is the demo model: it only repeats what the tool said.)"
    )


def _plan(text: str, tools: Mapping[str, ToolSpec]) -> tuple[str, tuple[str, dict[str, Json]] | None]:
    """Choose the response to a message: its reasoning, and the tool to call."""
    if "calculator" in tools and (found := _SUM.search(text)):
        expression = found.group(0).replace(",", "").strip()
        return f"This is arithmetic: {expression}. I should use the calculator.", (
            "calculator",
            {"expression": expression},
        )
    if "clock" in tools and re.search(r"\b(time|date|day|clock)\b", text, re.IGNORECASE):
        zone = _ZONE.search(text)
        arguments: dict[str, Json] = {"timezone": zone.group(0)} if zone else {}
        return "They want to know the time. The clock tool knows.", ("clock", arguments)
    if "send_postcard" in tools and re.search(r"\bpostcard\b", text, re.IGNORECASE):
        name = re.search(r"\bto\s+(\w+)", text)
        to = name.group(1) if name else "Ada"
        arguments = {"to": to, "text": f"Greetings to {to} from an agent!"}
        return "A postcard. That tool asks a person first.", ("send_postcard", arguments)
    for tool in tools.values():
        names = "|".join(re.escape(name) for name in (tool.name, tool.name.replace("_", " ")))
        if tool.name not in _KNOWN and (named := re.search(rf"\b(?:{names})\b(.*)", text, re.I | re.S)):
            return f"They named the tool {tool.name}.", (tool.name, _arguments(tool, named.group(1)))
    if re.search(r"\bthink\b", text, re.IGNORECASE):
        return (
            "First I look at it from one side, then from the other, and then I notice that I am a script.",
            None,
        )
    return "", None


def _arguments(tool: ToolSpec, rest: str) -> dict[str, Json]:
    """Read a tool's arguments after its name: a JSON object, else the words, or the first number in them."""
    if found := re.search(r"\{.*\}", rest, re.S):
        try:
            return msgspec.json.decode(found.group(0), type=dict[str, Json])
        except msgspec.DecodeError:
            pass  # braces in the words
    properties = json_object(tool.parameters.get("properties"))
    required = cast("list[str]", tool.parameters.get("required", []))
    number = re.search(r"-?\d+(?:\.\d+)?", rest)
    arguments: dict[str, Json] = {}
    for name in required:
        match json_object(properties.get(name)).get("type"):
            case "string":
                arguments[name] = rest.strip(" \t\n.,:;?!")
            case "integer":
                arguments[name] = int(float(number.group(0))) if number else 1
            case "number":
                arguments[name] = float(number.group(0)) if number else 1.0
            case "boolean":
                arguments[name] = True
            case _:
                pass
    return arguments


def _answer(text: str, tools: Sequence[ToolSpec]) -> str:
    if re.search(r"\bthink\b", text, re.IGNORECASE):
        return "I thought about it. Unfold the reasoning to see how (this is the demo model)."
    return _WELCOME.format(known="".join(f"- {_KNOWN[each.name]}\n" for each in tools if each.name in _KNOWN))
