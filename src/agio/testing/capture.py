"""Requests that the model server received, in one view for all wire formats."""

from collections.abc import Iterator
from typing import cast

from msgspec import Struct, field

from agio.protocol.messages import Json


class ToolResult(Struct, frozen=True):
    """A tool result, as the request gives it to the model."""

    name: str
    text: str


class Reading(Struct, frozen=True):
    """A decoded request body. `wants` names options that change the response."""

    model: str
    stream: bool
    system: str
    messages: list[tuple[str, str]]
    tool_names: list[str]
    tool_results: list[ToolResult]
    wants: frozenset[str] = frozenset()


class ModelCall(Struct, frozen=True):
    """One request that the server received.

    `messages` holds (role, text) with the roles `user`, `assistant` and `tool` for every vendor; system text is in
    `system`. `rejection` is the reason why the server refused the request, None if it was valid.
    """

    wire: str
    path: str
    headers: dict[str, str]
    body: dict[str, Json]
    model: str = ""
    stream: bool = False
    system: str = ""
    messages: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    tool_names: list[str] = field(default_factory=list[str])
    tool_results: list[ToolResult] = field(default_factory=list[ToolResult])
    rejection: str | None = None

    def texts(self) -> list[str]:
        """Return every string value of the request's body, in order."""
        return list(_strings(self.body))

    @property
    def last_user_text(self) -> str:
        """The text of the last user message, or an empty string."""
        return next((text for role, text in reversed(self.messages) if role == "user" and text), "")


def _strings(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in cast(list[Json], value):
            yield from _strings(item)
    elif isinstance(value, dict):
        for item in cast(dict[str, Json], value).values():
            yield from _strings(item)
