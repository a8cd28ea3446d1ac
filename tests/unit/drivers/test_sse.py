from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agio.drivers.sse import SSEReader
from agio.errors import ModelError

MIXED = (
    b"\xef\xbb\xbf: a comment\n"
    b'data: {"a":1}\n\n'
    b"event: delta\ndata: two\nid: 7\nretry: 10\n\n"
    b"data:no space\r\n\r\n"
    b"data: cr\r\r"
    b"data: first\ndata: second\n\n"
    b"event: empty\n\n"
    b"data\n\n"
    b": only a comment\n\n"
    b"\n\n"
    b"database: no\ndata: \xc3\xa4\xf0\x9f\x98\x80\n\n"
    b"event: x\ndata: 1\n\nevent: y\ndata: 2\n\n"
    b"data: 3\n\ndata: 4\n\n"
)
EVENTS = [
    b'{"a":1}',
    b"two",
    b"no space",
    b"cr",
    b"first\nsecond",
    "ä😀".encode(),
    b"1",
    b"2",
    b"3",
    b"4",
]


def read(chunks: list[bytes]) -> list[bytes]:
    reader = SSEReader()
    return [item for chunk in chunks for item in reader.feed(chunk)] + reader.close()


def test_a_stream_with_every_kind_of_line_gives_its_data() -> None:
    """L3: line ends, comments, fields, several data lines, a byte order mark."""
    assert read([MIXED]) == EVENTS


def test_a_stream_cut_at_every_byte_gives_the_same_events() -> None:
    """L3: nothing depends on how the network cuts a stream, characters and line ends included."""
    assert read([MIXED[at : at + 1] for at in range(len(MIXED))]) == EVENTS
    for at in range(len(MIXED)):
        assert read([MIXED[:at], MIXED[at:]]) == EVENTS, at


@given(st.lists(st.integers(0, len(MIXED)), max_size=20))
def test_any_cutting_gives_the_same_events(cuts: list[int]) -> None:
    """L3: the same holds for any number of cuts, empty reads included."""
    edges = [0, *sorted(cuts), len(MIXED)]
    assert read([MIXED[a:b] for a, b in pairwise(edges)]) == EVENTS


@given(
    st.lists(
        st.tuples(st.sampled_from(["data", "event+data", "two lines", "comment"]), st.text(max_size=5)),
        max_size=8,
    ),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
)
def test_the_quick_way_and_the_careful_way_agree(events: list[tuple[str, str]], line_end: bytes) -> None:
    """L3: bursts of plain events are split in one go, others line by line; both see the same."""
    stream, expected = b"", list[bytes]()
    for kind, text in events:
        data = text.encode().replace(b"\n", b"").replace(b"\r", b"")
        if kind == "comment":
            stream += b": " + data + b"\n\n"
            continue
        lines = {"data": [data], "event+data": [data], "two lines": [data, b"more"]}[kind]
        stream += b"event: data: x\n" if kind == "event+data" else b""
        stream += b"".join(b"data: " + line + b"\n" for line in lines) + b"\n"
        expected.append(b"\n".join(lines))
    stream = stream.replace(b"\n", line_end)
    wanted = [item for item in expected if item]
    assert read([stream]) == wanted
    assert read([stream[at : at + 1] for at in range(len(stream))]) == wanted


def test_a_last_event_without_its_blank_line_counts_only_if_its_line_is_whole() -> None:
    """L3: a stream that ends early does not turn half an event into data."""
    assert read([b"data: 1\n\ndata: 2\n"]) == [b"1", b"2"]
    assert read([b'data: 1\n\ndata: {"ha']) == [b"1"]
    assert read([b"\xef\xbb"]) == []


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_an_event_larger_than_the_limit_is_refused(size: int) -> None:
    """L3: a service cannot fill the memory with one event."""
    reader = SSEReader(limit_bytes=50)
    stream = b"data: " + b"x" * 60 + b"\n\n"
    chunks = [stream[at : at + size] for at in range(0, len(stream), size)]
    with pytest.raises(ModelError) as caught:
        list(map(reader.feed, chunks))
    assert caught.value.code == "invalid_response"
    assert caught.value.retryable


def test_many_small_events_in_one_read_may_together_pass_the_limit() -> None:
    """L3: the limit is on one event, not on a burst."""
    assert len(SSEReader(limit_bytes=50).feed(b"data: 0123456789\n\n" * 100)) == 100
