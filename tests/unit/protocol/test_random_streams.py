"""Random short streams of every order rule's events: ours and the official client agree on each."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from agio.protocol import events as ev
from agio.protocol.events import AgentEvent
from agio.protocol.grammar import Grammar, GrammarError
from agio.protocol.messages import AssistantMessage, FunctionCall, ReasoningMessage, RunAgentInput, ToolCall
from tests.support.official import OfficialVerifier

MESSAGE_IDS = st.sampled_from(["m1", "m2"])
CALL_IDS = st.sampled_from(["c1", "c2"])
SUBAGENTS = st.sampled_from(["s1", "s2"])
OWNERS = st.sampled_from([UNSET, UNSET, "s1", "s2"])
DELTAS = st.sampled_from([UNSET, "", "a"])
MAYBE_MESSAGE = st.sampled_from([UNSET, "m1", "m2"])
MAYBE_METADATA = st.sampled_from([UNSET, UNSET, {"k": 1}])
CALL = ToolCall(id="c1", function=FunctionCall(name="f", arguments="{}"))
HISTORY = st.lists(
    st.one_of(
        st.builds(
            AssistantMessage,
            id=MESSAGE_IDS,
            subagent_run_id=OWNERS,
            tool_calls=st.sampled_from([UNSET, [CALL]]),
        ),
        st.builds(ReasoningMessage, id=MESSAGE_IDS, subagent_run_id=OWNERS, content=st.just("")),
    ),
    max_size=2,
)
STARTED = st.builds(
    ev.RunStarted,
    thread_id=st.just("t"),
    run_id=st.just("r"),
    input=st.one_of(
        st.just(UNSET),
        st.builds(RunAgentInput, thread_id=st.just("t"), run_id=st.just("r"), messages=HISTORY),
    ),
)
FINISHED = st.builds(ev.RunFinished, thread_id=st.just("t"), run_id=st.just("r"))
TEXT = st.one_of(
    st.builds(ev.TextMessageStart, message_id=MESSAGE_IDS, subagent_run_id=OWNERS),
    st.builds(ev.TextMessageContent, message_id=MESSAGE_IDS, delta=st.just("a"), subagent_run_id=OWNERS),
    st.builds(ev.TextMessageEnd, message_id=MESSAGE_IDS, subagent_run_id=OWNERS),
)
CALLS = st.one_of(
    st.builds(
        ev.ToolCallStart,
        tool_call_id=CALL_IDS,
        tool_call_name=st.just("f"),
        parent_message_id=MAYBE_MESSAGE,
        subagent_run_id=OWNERS,
    ),
    st.builds(ev.ToolCallArgs, tool_call_id=CALL_IDS, delta=st.just("a"), subagent_run_id=OWNERS),
    st.builds(ev.ToolCallEnd, tool_call_id=CALL_IDS, subagent_run_id=OWNERS),
    st.builds(
        ev.ToolCallResult,
        message_id=MESSAGE_IDS,
        tool_call_id=CALL_IDS,
        content=st.just("a"),
        subagent_run_id=OWNERS,
    ),
)
REASONING = st.one_of(
    st.builds(ev.ReasoningStart, message_id=MESSAGE_IDS, subagent_run_id=OWNERS),
    st.builds(ev.ReasoningMessageStart, message_id=MESSAGE_IDS, subagent_run_id=OWNERS),
    st.builds(ev.ReasoningMessageContent, message_id=MESSAGE_IDS, delta=st.just("a"), subagent_run_id=OWNERS),
    st.builds(ev.ReasoningMessageEnd, message_id=MESSAGE_IDS, subagent_run_id=OWNERS),
    st.builds(ev.ReasoningEnd, message_id=MESSAGE_IDS, subagent_run_id=OWNERS),
    st.builds(
        ev.ReasoningEncryptedValue,
        subtype=st.sampled_from(["tool-call", "message"]),
        entity_id=st.one_of(MESSAGE_IDS, CALL_IDS),
        encrypted_value=st.just("a"),
        subagent_run_id=OWNERS,
    ),
)
CHUNKS = st.one_of(
    st.builds(
        ev.TextMessageChunk,
        message_id=MAYBE_MESSAGE,
        role=st.sampled_from([UNSET, UNSET, "assistant", "user"]),
        name=st.sampled_from([UNSET, UNSET, "n"]),
        delta=DELTAS,
        metadata=MAYBE_METADATA,
        subagent_run_id=OWNERS,
    ),
    st.builds(
        ev.ToolCallChunk,
        tool_call_id=st.sampled_from([UNSET, "c1", "c2"]),
        tool_call_name=st.sampled_from([UNSET, "f", "f", "g"]),
        parent_message_id=MAYBE_MESSAGE,
        delta=DELTAS,
        metadata=MAYBE_METADATA,
        subagent_run_id=OWNERS,
    ),
    st.builds(
        ev.ReasoningMessageChunk,
        message_id=MAYBE_MESSAGE,
        delta=DELTAS,
        metadata=MAYBE_METADATA,
        subagent_run_id=OWNERS,
    ),
)
REST = st.one_of(
    st.builds(ev.StepStarted, step_name=st.just("p"), subagent_run_id=OWNERS),
    st.builds(ev.StepFinished, step_name=st.just("p"), subagent_run_id=OWNERS),
    st.builds(
        ev.SubagentStarted,
        subagent_run_id=SUBAGENTS,
        name=st.just("n"),
        parent_subagent_run_id=st.sampled_from([UNSET, "s1", "s2"]),
    ),
    st.builds(ev.SubagentFinished, subagent_run_id=SUBAGENTS),
    st.builds(ev.SubagentError, subagent_run_id=SUBAGENTS, message=st.just("a")),
    st.builds(ev.MessagesSnapshot, messages=HISTORY),
    st.builds(
        ev.ActivitySnapshot,
        message_id=MESSAGE_IDS,
        activity_type=st.just("p"),
        content=st.just({}),
        replace=st.sampled_from([UNSET, True, False]),
        subagent_run_id=OWNERS,
    ),
    st.builds(
        ev.ActivityDelta,
        message_id=MESSAGE_IDS,
        activity_type=st.just("p"),
        patch=st.just([]),
        subagent_run_id=OWNERS,
    ),
    st.builds(ev.Custom, name=st.just("n"), value=st.just(1), subagent_run_id=OWNERS),
    st.builds(ev.Raw, event=st.just(1), subagent_run_id=OWNERS),
    STARTED,
    FINISHED,
    st.builds(ev.RunError, message=st.just("a")),
)
EVENTS = st.one_of(TEXT, CALLS, REASONING, CHUNKS, CHUNKS, REST)


def ours_accepts(stream: list[AgentEvent]) -> bool:
    grammar = Grammar(house=False)
    try:
        for event in stream:
            grammar.check(event)
    except GrammarError:
        return False
    return True


@settings(max_examples=300, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
@given(start=STARTED, events=st.lists(EVENTS, min_size=1, max_size=14))
def test_ours_and_the_official_client_agree_on_random_streams(
    start: AgentEvent, events: list[AgentEvent], official: OfficialVerifier
) -> None:
    """R8: both accept or both refuse; an event that ours refuses is left out, and the stream goes on."""
    accepted: list[AgentEvent] = [start]
    for event in events:
        candidate = [*accepted, event]
        if ours_accepts(candidate):
            accepted = candidate
        else:
            assert official.verify(candidate) is not None, candidate
    assert official.verify(accepted) is None, accepted


@settings(max_examples=100, deadline=None, database=None)
@given(events=st.lists(EVENTS, max_size=3))
def test_ours_and_the_official_client_agree_on_how_a_stream_begins(
    events: list[AgentEvent], official: OfficialVerifier
) -> None:
    """R8: a stream may begin with anything a client sends, and both judge it alike."""
    assert ours_accepts(events) == (official.verify(events) is None)
