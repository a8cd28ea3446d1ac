"""JSON is refused by its bytes, before objects are made of it."""

import msgspec
import pytest

from agio.core.config import ServerLimits
from agio.errors import UserError
from agio.gateway.http.body import decode_json

LIMITS = ServerLimits()


@pytest.mark.parametrize(
    "body",
    [
        b"[" + b"[]," * 60_000 + b"[]]",
        b"[" * 33 + b"]" * 33,
        b'[{"a":' * 17 + b"1" + b"}]" * 17,
        rb'["\\\u0000"]',
        b'["\\\\"' + b",[" * 33 + b"]" * 34,
    ],
    ids=["many lists", "deep lists", "deep objects", "a null character", "deep after a backslash"],
)
def test_json_that_is_too_deep_or_has_too_many_parts_is_refused(body: bytes) -> None:
    """S14: the number of parts is what makes JSON slow to read."""
    with pytest.raises(UserError) as caught:
        decode_json(body, LIMITS)
    assert caught.value.code == "invalid_json"


@pytest.mark.parametrize("text", ["[" * 60_000, '\\"' * 50 + "[" * 50, "\\u0000", '"[{' * 100, "\\"])
def test_brackets_in_a_text_do_not_count(text: str) -> None:
    """C2: people send code."""
    value = {"content": text, "more": [[1], {"a": text}] * 20}
    assert decode_json(msgspec.json.encode(value), LIMITS) == value
