"""The official AG-UI client as a judge of our streams, running under Node for as long as the tests do."""

import select
from collections.abc import Iterable, Sequence
from typing import NoReturn

import msgspec
import pytest

from agio.protocol.codec import decode_event, encode
from agio.protocol.events import AgentEvent
from agio.protocol.grammar import Grammar, GrammarError
from tests.support.node import start_node

ANSWER_TIMEOUT_S = 90


class Verdict(msgspec.Struct):
    """What the official client says of a stream; `warnings` is what it dropped or could not apply."""

    id: int | None
    ok: bool
    warnings: list[str]
    error: str | None = None
    messages: list[dict[str, object]] | None = None
    """The conversation the client has in the end, if it was asked for."""


class OfficialVerifier:
    """Enforcement, chunk expansion, order rules and reducer of `@ag-ui/client`, in one Node process."""

    def __init__(self) -> None:
        self._process = start_node("verify.mjs", "@ag-ui/client")
        self._asked = 0

    def judge(self, events: Sequence[AgentEvent] | Sequence[bytes], *, messages: bool = False) -> Verdict:
        """Return the verdict on a stream of events or of their JSON lines."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        self._asked += 1
        asked = b'{"id":%d,"messages":%s,"events":[%s]}\n'
        stdin.write(asked % (self._asked, b"true" if messages else b"false", b",".join(map(_line, events))))
        stdin.flush()
        if not select.select([stdout], [], [], ANSWER_TIMEOUT_S)[0]:
            pytest.fail(f"The official AG-UI client did not answer within {ANSWER_TIMEOUT_S} s.")
        verdict = msgspec.json.decode(stdout.readline(), type=Verdict)
        assert verdict.id == self._asked, verdict
        return verdict

    def verify(self, events: Sequence[AgentEvent] | Sequence[bytes]) -> str | None:
        """Return why the official client refuses a stream, None if it accepts it."""
        return self.judge(events).error

    def close(self) -> None:
        """End the process."""
        self._process.communicate(timeout=ANSWER_TIMEOUT_S)


def check_flow(
    events: Sequence[AgentEvent] | Sequence[bytes],
    official: OfficialVerifier,
    *,
    known_calls: Iterable[str] = (),
) -> None:
    """Fail the test unless our grammar, house rules and all, and the official client accept a whole stream.

    What the official client only warns of fails too: it has dropped a field, or could not apply an event.
    """
    lines = [_line(event) for event in events]
    grammar = Grammar(known_calls=known_calls)
    for index, line in enumerate(lines):
        try:
            grammar.check(decode_event(line))
        except GrammarError as error:
            _fail("Our grammar refuses", error.message, lines, index)
    try:
        grammar.check_stream([])
    except GrammarError as error:
        _fail("Our grammar refuses", error.message, lines, len(lines))
    verdict = official.judge(lines)
    if complaint := verdict.error or "\n".join(verdict.warnings):
        accepted = 0
        while (so_far := official.judge(lines[: accepted + 1])).ok and not so_far.warnings:
            accepted += 1
        _fail("The official client refuses", complaint, lines, accepted)


def _line(event: AgentEvent | bytes) -> bytes:
    return event.strip() if isinstance(event, bytes) else encode(event)


def _fail(who: str, why: str, lines: Sequence[bytes], index: int) -> NoReturn:
    shown = [
        f"{'->' if at == index else '  '} {line.decode()[:160]}" for at, line in enumerate(lines[: index + 3])
    ]
    if index == len(lines):
        shown.append("-> (the end of the stream)")
    pytest.fail(f"{who} event {index + 1} of {len(lines)}: {why}\n" + "\n".join(shown), pytrace=False)
