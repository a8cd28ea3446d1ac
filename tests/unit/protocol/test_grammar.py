"""The order rules on the named streams of tests/wire, judged by ours and by the official client."""

import json
from typing import get_args

import pytest

from agio.errors import AgioError
from agio.protocol import events as ev
from agio.protocol.codec import decode_event
from agio.protocol.events import AgentEvent
from agio.protocol.grammar import Grammar, GrammarError, Rule
from tests.support.official import OfficialVerifier, check_flow
from tests.support.wire_examples import Stream, read_streams

GOOD = read_streams("streams") + read_streams("branches")
WRONG, HOUSE = read_streams("wrong_streams"), read_streams("house_streams")


def decoded(stream: Stream) -> list[AgentEvent]:
    return [decode_event(line) for line in stream.lines]


@pytest.mark.parametrize("stream", GOOD, ids=lambda stream: stream.name)
def test_a_good_stream_is_accepted_by_ours_and_the_official_client(
    stream: Stream, official: OfficialVerifier
) -> None:
    """R8: what AG-UI 1.0 allows passes, with and without the rules of the house."""
    Grammar(house=False).check_stream(decoded(stream))
    check_flow(stream.lines, official)
    check_flow(decoded(stream), official)


@pytest.mark.parametrize("stream", WRONG, ids=lambda stream: stream.name)
def test_a_wrong_stream_is_refused_by_ours_and_the_official_client(
    stream: Stream, official: OfficialVerifier
) -> None:
    """R8: what AG-UI 1.0 forbids is refused, by the rule it breaks."""
    with pytest.raises(GrammarError) as refused:
        Grammar(house=False).check_stream(decoded(stream))
    assert refused.value.rule == stream.rule
    assert official.verify(stream.lines) is not None
    with pytest.raises(GrammarError):
        Grammar().check_stream(decoded(stream))


@pytest.mark.parametrize("stream", HOUSE, ids=lambda stream: stream.name)
def test_a_stream_that_only_the_house_forbids_is_refused_by_its_rule(
    stream: Stream, official: OfficialVerifier
) -> None:
    """L9: our own streams keep rules that AG-UI 1.0 does not ask for."""
    with pytest.raises(GrammarError) as refused:
        Grammar().check_stream(decoded(stream))
    assert refused.value.rule == stream.rule
    assert official.verify(stream.lines) is None
    lenient = Grammar(house=False)
    for event in decoded(stream):
        lenient.check(event)


def test_every_rule_is_broken_by_a_wrong_stream() -> None:
    """R8: no rule is without its wrong stream."""
    assert len(WRONG) >= 40
    assert {stream.rule for stream in WRONG + HOUSE} == set(get_args(Rule))


def test_a_refusal_is_an_agio_error_that_names_its_rule() -> None:
    """R8: a refusal has the code `grammar`, the rule for programs and a sentence for people."""
    with pytest.raises(AgioError) as refused:
        Grammar().check(ev.TextMessageEnd(message_id="m1"))
    assert refused.value.code == "grammar"
    assert refused.value.details == {"rule": "starts-with-run"}
    assert refused.value.message == "TEXT_MESSAGE_END came before RUN_STARTED."


def test_a_result_of_a_known_call_from_before_the_stream_is_accepted() -> None:
    """R8: a run may answer a call of a run that is not in the stream."""
    run: list[AgentEvent] = [
        ev.RunStarted(thread_id="t", run_id="r"),
        ev.ToolCallResult(message_id="m1", tool_call_id="c1", content="42"),
        ev.RunFinished(thread_id="t", run_id="r"),
    ]
    Grammar(known_calls=["c1"]).check_stream(run)
    with pytest.raises(GrammarError):
        Grammar(known_calls=["c2"]).check_stream(run)


def test_a_flow_that_our_grammar_refuses_fails_with_the_event_marked(official: OfficialVerifier) -> None:
    """R8: the check of flow tests shows which event is refused and why."""
    stream = next(stream for stream in HOUSE if stream.name == "a gap")
    with pytest.raises(pytest.fail.Exception, match=r"event 2 of 3: seq is 3 where 2 comes next.*\n.*\n-> "):
        check_flow(stream.lines, official)


def test_a_flow_with_a_field_that_is_not_of_ag_ui_fails(official: OfficialVerifier) -> None:
    """R8: the check of flow tests shows what the official client would drop."""
    events = [{**event, "extra": 1} for event in GOOD[0].events]
    with pytest.raises(pytest.fail.Exception, match=r"official client refuses event 1 of 2.*'/extra'"):
        check_flow([json.dumps(event).encode() for event in events], official)


def test_the_verifier_answers_after_what_is_no_event(official: OfficialVerifier) -> None:
    """R8: bad input does not end the official verifier."""
    assert official.verify([b"null"]) is not None
    assert official.verify([b'{"type": "RUN_STARTED", "threadId": null}']) is not None
    assert official.verify(GOOD[0].lines) is None
