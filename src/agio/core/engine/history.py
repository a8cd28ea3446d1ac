"""Groups a thread's messages into units that are kept or dropped together, and measures and shortens them."""

from collections.abc import Callable, Sequence

from msgspec import UNSET, structs

from agio.core.run.lane import Lane
from agio.core.text import estimate_tokens
from agio.protocol.messages import (
    ActivityMessage,
    AssistantMessage,
    Content,
    Message,
    ReasoningMessage,
    TextPart,
    ToolMessage,
    UserMessage,
)

_CUT_TO_CHARS = 400
_PART_TOKENS = 1000


class Unit:
    """Messages kept or dropped together: an assistant message with its tool results, or a single message."""

    def __init__(self, messages: list[Message], delimit: Callable[[Message], Message]) -> None:
        self._delimit = delimit
        self._set(messages)

    def _set(self, messages: list[Message]) -> None:
        self.messages = messages
        self.delimited = [self._delimit(message) for message in messages]
        self.tokens = sum(size_of(message) for message in self.delimited)

    def cut_tool_output(self) -> int:
        """Shorten long tool output. Return the number of tokens saved."""
        before = self.tokens
        self._set([shortened(message) for message in self.messages])
        return before - self.tokens


def conversation(lane: Lane) -> tuple[list[Message], int]:
    """Return the messages that the lane's agent may see, and the index where the current exchange begins."""
    if not lane.cuts and lane.summary is None:
        return lane.messages, _current_from(lane)
    shown = lane.shown
    asked = (at for at in range(len(shown) - 1, -1, -1) if isinstance(shown[at], UserMessage))
    return shown, next(asked, 0)


def _current_from(lane: Lane) -> int:
    """Return where the run's own user message is, or the one it continues."""
    own = lane.first_message
    if any(isinstance(message, UserMessage) for message in lane.messages[own:]):
        return own
    asked = (at for at in range(own - 1, -1, -1) if isinstance(lane.messages[at], UserMessage))
    return next(asked, own)


def group(messages: Sequence[Message]) -> list[list[Message]]:
    """Group each assistant message with its tool results. Reasoning and activity messages are skipped."""
    groups: list[list[Message]] = []
    for message in messages:
        if isinstance(message, (ReasoningMessage, ActivityMessage)):
            continue
        if isinstance(message, ToolMessage) and groups and isinstance(groups[-1][0], AssistantMessage):
            groups[-1].append(message)
        else:
            groups.append([message])
    return groups


def drop_oldest(groups: list[list[Message]], limit: int) -> int:
    """Drop the oldest groups until at most `limit` messages are left. Return the number dropped."""
    count = sum(map(len, groups))
    first = dropped = 0
    while count - dropped > limit:
        dropped += len(groups[first])
        first += 1
    del groups[:first]
    return dropped


def size_of(message: Message) -> int:
    """Estimate the tokens of a message."""
    match message:
        case AssistantMessage():
            text = "" if message.content is UNSET else message.content
            calls = [] if message.tool_calls is UNSET else message.tool_calls
            return (
                8
                + estimate_tokens(text)
                + sum(estimate_tokens(call.function.arguments) + 12 for call in calls)
            )
        case UserMessage() | ToolMessage():
            return 8 + _content_size(message.content)
        case ReasoningMessage() | ActivityMessage():
            return 0  # for display only: not sent to the model in this form
        case _:
            return 8 + estimate_tokens(message.content)


def _content_size(content: Content) -> int:
    if isinstance(content, str):
        return estimate_tokens(content)
    return sum(estimate_tokens(part.text) if isinstance(part, TextPart) else _PART_TOKENS for part in content)


def shortened(message: Message) -> Message:
    """Return a message with long tool output cut; others as they are."""
    if not isinstance(message, ToolMessage):
        return message
    content = message.content
    if isinstance(content, str):
        short = _cut(content)
    else:
        short = _cut("\n".join(part.text for part in content if isinstance(part, TextPart)))
        others = sum(not isinstance(part, TextPart) for part in content)
        short += f"\n[{others} images or files left out]" if others else ""
    return (
        structs.replace(message, content=short) if _content_size(short) < _content_size(content) else message
    )


def _cut(text: str) -> str:
    left_out = len(text) - _CUT_TO_CHARS
    return f"{text[:_CUT_TO_CHARS]}\n[... {left_out} characters left out]" if left_out > 0 else text
