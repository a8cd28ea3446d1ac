"""`agio serve`: starts, lets people and programs in, and takes a message all the way to its answer."""

import time
from pathlib import Path

import httpx

from tests.support.process import (
    KEY,
    Server,
    answer_of,
    frames,
    send,
    start_session,
    stream,
    text_of,
)

START_S = 1.5
"""How soon the first request is served; a busy machine gets more, so the processor's time is what counts."""
TRIES = 5
"""What else the processor does can make its time longer, never shorter: the best one counts."""


def test_a_message_to_a_fresh_server_becomes_a_streamed_answer(tmp_path: Path) -> None:
    """R3, R6, R8, C7: the demo agent is there, its tool runs, the stream is the log."""
    with Server(tmp_path) as server, server.client() as client:
        session = start_session(client)
        run = send(client, session, "what is 6 * 7?")
        events = stream(client, session)
        types = [event["type"] for event in events]
        assert (types[0], types[-1]) == ("RUN_STARTED", "RUN_FINISHED")
        assert "TOOL_CALL_RESULT" in types
        assert text_of(events).startswith("The tool says: **42**")
        log = client.get(f"/api/runs/{run}/events").text.splitlines()
        assert [httpx.Response(200, text=line).json() for line in log] == events


def test_a_stream_goes_on_after_the_last_event_seen(tmp_path: Path) -> None:
    """C7: `Last-Event-ID` brings the rest, nothing twice."""
    with Server(tmp_path) as server, server.client() as client:
        session = start_session(client)
        send(client, session, "hello")
        whole = list(frames(client, session))
        rest = list(frames(client, session, after=7))
        assert rest == whole[7:]


def test_the_sign_in_link_works_once_and_gives_a_cookie(tmp_path: Path) -> None:
    """R2: a browser is let in by the printed link, and the second who tries is not."""
    with Server(tmp_path) as server, server.client(key=None) as browser, server.client(key=None) as other:
        assert browser.get("/api/agents").status_code == 401
        first = browser.get(server.sign_in)
        assert (first.status_code, first.headers["location"]) == (303, "/set-up")
        cookie = first.headers["set-cookie"]
        assert cookie.startswith("__Host-")
        assert "HttpOnly" in cookie
        assert other.get(server.sign_in).status_code == 403
        # httpx keeps no Secure cookie of a plain address; a browser does for this machine's own.
        seen = browser.get("/api/me", headers={"cookie": cookie.partition(";")[0]})
        assert answer_of(seen)["user"] == "local"


def test_what_was_said_is_there_after_a_restart_and_the_first_key_stays(tmp_path: Path) -> None:
    """R3, C5: the data folder is all there is; another bootstrap key is ignored later."""
    with Server(tmp_path) as server, server.client() as client:
        session = start_session(client)
        send(client, session, "what is 6 * 7?")
        before = stream(client, session)
        assert server.stop() == 0
    later = {"AGIO_BOOTSTRAP_API_KEY": "another-key-of-more-than-32-characters"}
    with Server(tmp_path, environment=later) as server, server.client() as client:
        assert stream(client, session) == before
        with server.client(later["AGIO_BOOTSTRAP_API_KEY"]) as stranger:
            assert stranger.get("/api/agents").status_code == 401


def test_the_first_lines_say_what_a_person_needs(tmp_path: Path) -> None:
    """R2, L15: the address, the link, the models that were found, the data folder, and how to stop."""
    with Server(tmp_path, environment={"OPENAI_API_KEY": "sk-test"}) as server:
        assert server.stop() == 0
        printed = server.output()
    assert f"data:         {server.data / 'agio.db'}" in printed
    assert "models:       openai, openai-chat, demo" in printed
    assert "Ctrl-C" in printed
    assert "sk-test" not in printed + server.errors
    assert KEY not in printed + server.errors


def test_a_server_serves_soon(tmp_path: Path) -> None:
    """R1: from the start of the process to the first request served."""
    with Server(tmp_path) as first, first.client(key=None) as client:
        assert client.get("/api/health").status_code == 200
    times: list[float] = []
    while len(times) < TRIES and min(times, default=START_S) >= START_S:
        began = time.monotonic()
        with Server(tmp_path) as server, server.client(key=None) as client:
            assert client.get("/api/health").status_code == 200
            times.append(min(time.monotonic() - began, server.processor_s()))
    assert min(times) < START_S
