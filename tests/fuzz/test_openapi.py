"""A small round of what `make fuzz` does at length: every operation of the description, and some of them thoroughly."""

from pathlib import Path

import pytest

from tests.fuzz.openapi import Round, throw
from tests.fuzz.server import target

SEED = 4
THOROUGHLY = ("tools", "api-keys", "sign-in")
"""Of these, all that an operation's schema can be violated by: methods, headers, every bound of every field."""
ROUNDS = [
    Round(SEED, "fuzzing", 2),
    Round(SEED, "coverage", 1, tuple(part for tag in THOROUGHLY for part in ("--include-tag", tag))),
]


@pytest.mark.timeout(300)
def test_no_request_breaks_the_server_or_its_description(tmp_path: Path) -> None:
    """S14: no 5xx, no answer and no code that is not described, nothing described that is refused for its form."""
    with target(tmp_path) as server:
        before_kib = server.memory_kib
        for given in ROUNDS:
            assert not (failure := throw(server, tmp_path, given)), failure
        answered = server.requests()
        assert answered.total() > 500, answered
        assert not [status for status in answered if status >= 500], answered
        assert {200, 201, 204, 400, 401, 404, 405, 415, 422} <= set(answered), answered
        assert server.memory_kib < before_kib + 100_000
