"""Strategies for what somebody may send: JSON of every kind, and good messages that were spoilt."""

import json
from collections.abc import Mapping
from typing import TypeAlias

from hypothesis import strategies as st

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

LONG = "x" * (1024 * 1024)
DEEP = "[" * 10_000 + "]" * 10_000
NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70), st.sampled_from([0, -1, 2**31, 2**53, 2**63, 2**64 - 1]), st.floats()
)
TEXTS = st.one_of(st.text(max_size=40), st.sampled_from(["", "\0", "\u2028", "../..", "ses_0", "💥" * 300]))
VALUES: "st.SearchStrategy[Json]" = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=8,
)


@st.composite
def spoilt(draw: st.DrawFn, good: Mapping[str, Json]) -> dict[str, Json]:
    """A good object of which some fields are others, missing, or too many."""
    made = dict(good)
    for name in draw(st.lists(st.sampled_from(sorted(made)), max_size=3, unique=True)):
        if draw(st.booleans()):
            made[name] = draw(VALUES)
        else:
            del made[name]
    if draw(st.integers(0, 3)) == 0:
        made[draw(TEXTS)] = draw(VALUES)
    return made


@st.composite
def cut(draw: st.DrawFn, whole: bytes) -> bytes:
    """Bytes of which some are others, missing, or twice there."""
    at = draw(st.integers(0, max(0, len(whole) - 1)))
    match draw(st.sampled_from(["cut", "flip", "insert", "twice", "drop"])):
        case "cut":
            return whole[:at]
        case "flip":
            return whole[:at] + bytes([draw(st.integers(0, 255))]) + whole[at + 1 :]
        case "insert":
            return whole[:at] + draw(st.binary(max_size=20)) + whole[at:]
        case "twice":
            return whole + whole
        case _:
            return whole[:at] + whole[at + draw(st.integers(1, 20)) :]


def encoded(value: Json) -> str:
    """Write JSON as careless programs do: NaN, and halves of characters."""
    return json.dumps(value)
