"""What a check found."""

from typing import Literal, TypeAlias

from msgspec import Struct

State: TypeAlias = Literal["ok", "warning", "problem"]


class Finding(Struct, frozen=True):
    """How one thing stands. `advice` is what to do about it."""

    subject: str
    state: State
    message: str
    advice: str = ""


def ok(subject: str, message: str) -> Finding:
    """All is well."""
    return Finding(subject, "ok", message)


def warning(subject: str, message: str, advice: str) -> Finding:
    """It works, but not as it should, or not for long."""
    return Finding(subject, "warning", message, advice)


def problem(subject: str, message: str, advice: str) -> Finding:
    """A server cannot start, or cannot do all of its work."""
    return Finding(subject, "problem", message, advice)
