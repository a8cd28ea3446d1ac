"""What a person sees of a run: thoughts, tool cards, how it ended. Read by both stages, made by the renderer."""

import re
import unicodedata
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct, field

from agio.core.store.repository import RunStatus
from agio.protocol.messages import Content, Json, TextPart

CardState: TypeAlias = Literal["running", "waiting", "done", "failed"]
Level: TypeAlias = Literal["notice", "warning"]

_JSON_LINE = 60
_KEPT = {"\n", "\t"}
_SHAPELESS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
"""Letters and marks that show nothing, beside the characters of control and format."""
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n){3,}")
_SPACES = re.compile(r"[^\S\n]{40,}")


class Thought(Struct):
    """A stretch of reasoning; times are those of its events."""

    text: str = ""
    began_ms: int = 0
    ended_ms: int = 0

    @property
    def summary(self) -> str:
        """How long it took, in seconds and words."""
        words = len(self.text.split())
        return f"{seconds(self.ended_ms - self.began_ms)}, {words} {'word' if words == 1 else 'words'}"


class Card(Struct):
    """A tool call as it is shown."""

    call_id: str
    name: str
    arguments: str = ""
    state: CardState = "running"
    result: str = ""
    error: str = ""
    progress: str = ""
    fraction: float | None = None
    began_ms: int = 0
    ended_ms: int = 0

    @property
    def duration(self) -> str:
        """How long the tool took, empty if that is unknown."""
        return seconds(self.ended_ms - self.began_ms) if self.began_ms and self.ended_ms else ""

    @property
    def shown_arguments(self) -> str:
        """The arguments, every character that could hide another one spelled out."""
        return visible(self.arguments.strip() or "{}")


class Ending(Struct):
    """How a run ended, and what it cost."""

    status: RunStatus
    run_id: str
    metrics: dict[str, Json] = field(default_factory=dict[str, Json])
    code: str = ""
    message: str = ""

    @property
    def footer(self) -> str:
        """Steps, tokens and times on one line."""
        metrics = self.metrics
        parts: list[str] = []
        if isinstance(steps := metrics.get("steps"), int):
            parts.append(f"{steps} {'step' if steps == 1 else 'steps'}")
        given, made = metrics.get("input_tokens"), metrics.get("output_tokens")
        if isinstance(given, int) and isinstance(made, int):
            least = "at least " if metrics.get("usage_partial") else ""
            parts.append(f"{least}{given + made} tokens")
        elif metrics.get("usage_partial"):
            parts.append("token count unavailable")
        if isinstance(first := metrics.get("first_token_ms"), int):
            parts.append(f"first token {seconds(first)}")
        if isinstance(total := metrics.get("run_ms"), int):
            parts.append(f"total {seconds(total)}")
        if isinstance(cost := metrics.get("cost"), (int, float)):
            parts.append(f"cost {cost:.4g}")
        return " · ".join(parts)

    @property
    def advice(self) -> str:
        """What a person can do about a run that failed."""
        return _ADVICE.get(self.code, f"See what happened: agio runs show {self.run_id}")


_LATER = "Nothing is lost. Send the message again in a moment."
_LIMIT = "The run reached one of the agent's limits. Ask for a smaller step."
_ADVICE = {
    "connection_failed": "Check the network and the base URL, then send the message again.",
    "rate_limited": _LATER,
    "model_overloaded": _LATER,
    "model_unavailable": _LATER,
    "stream_broken": _LATER,
    "first_token_timeout": _LATER,
    "idle_timeout": _LATER,
    "turn_timeout": _LATER,
    "quota_exceeded": "Check your account with the provider, or use another model: agio chat --model ...",
    "invalid_api_key": "Check the key in the environment, then start agio chat again.",
    "permission_denied": "Check the key's permissions, or use another model: agio chat --model ...",
    "model_not_found": "Check the name after --model and the base URL.",
    "context_too_long": "Start a new conversation with /new.",
    "request_too_large": "Start a new conversation with /new, or send less.",
    "step_limit": _LIMIT,
    "token_budget": _LIMIT,
    "turn_too_large": _LIMIT,
    "run_too_large": _LIMIT,
    "time_budget": _LIMIT,
    "demo_failure": "Nothing is wrong: the demo fails on request.",
}


def printable(text: str) -> str:
    """Take out the characters that command a terminal."""
    if text.isprintable():
        return text
    return "".join(char for char in text if char in _KEPT or unicodedata.category(char) not in ("Cc", "Cs"))


def visible(text: str) -> str:
    """Spell out the characters that command a terminal, turn its direction or do not show, and count long blanks."""
    spelled = "".join(char if _shows(char) else f"\\u{ord(char):04x}" for char in text)
    counted = _BLANK_LINES.sub(lambda run: f"\n[{len(run[0].splitlines()) - 1} blank lines]\n", spelled)
    return _SPACES.sub(lambda run: f" [{len(run[0])} spaces] ", counted)


def _shows(char: str) -> bool:
    if char in _KEPT:
        return True
    return char not in _SHAPELESS and unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp")


def readable(content: Content) -> str:
    """Return the text of a message body, and the names of its other parts."""
    if isinstance(content, str):
        return content
    return "\n".join(
        part.text if isinstance(part, TextPart) else f"[{part.__struct_config__.tag}]" for part in content
    )


def spaced_json(text: str, *, indented: bool) -> str:
    """Space JSON for the eye, over many lines if it is long and `indented`; other text stays as it is."""
    try:
        return msgspec.json.format(text, indent=2 if indented and len(text) > _JSON_LINE else 0)
    except msgspec.DecodeError:
        return text


def seconds(milliseconds: float) -> str:
    """Write a duration for people."""
    if milliseconds < 1000:
        return f"{max(0, round(milliseconds))} ms"
    if milliseconds < 60_000:
        return f"{milliseconds / 1000:.1f} s"
    minutes, rest = divmod(round(milliseconds / 1000), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
