"""The result of a check."""

from typing import Literal, TypeAlias

from msgspec import Struct

State: TypeAlias = Literal["ok", "warning", "problem"]


class Finding(Struct, frozen=True):
    """The result of one check. `advice` says what to do."""

    subject: str
    state: State
    message: str
    advice: str = ""


def ok(subject: str, message: str) -> Finding:
    """A check that passed."""
    return Finding(subject, "ok", message)


def warning(subject: str, message: str, advice: str) -> Finding:
    """A check that found something to fix soon."""
    return Finding(subject, "warning", message, advice)


def problem(subject: str, message: str, advice: str) -> Finding:
    """A check that found something that stops a server or part of its work."""
    return Finding(subject, "problem", message, advice)
