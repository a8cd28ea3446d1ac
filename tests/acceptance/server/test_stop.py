"""Stopping: what runs is finished or given back, clients are told, and the exit code is 0."""

import json
import signal
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.support.command import WAIT_S
from tests.support.process import KEY, Server, frames, send, start_session, stream, text_of

SLOW = '''
import asyncio
from agio import Agent, tool

@tool(effect="read")
async def nap(seconds: float) -> str:
    """Sleep."""
    await asyncio.sleep(seconds)
    return "slept"

sleeper = Agent("sleeper", "Sleep.", tools=[nap])
'''

DRAIN_S = 10 * WAIT_S
PATIENT = {"AGIO_LIMITS": json.dumps({"drain_s": DRAIN_S})}
"""A server that would wait far longer for what runs than the test waits for the server."""


@pytest.mark.parametrize("workers", [(), ("--workers", "2")])
def test_a_run_that_is_going_on_is_finished_or_goes_on_at_the_next_start(
    tmp_path: Path, workers: tuple[str, ...]
) -> None:
    """B1, L14: SIGTERM in the middle of a run costs nothing: the log is whole, nothing is twice."""
    with Server(tmp_path, *workers) as server, server.client() as client:
        session = start_session(client)
        send(client, session, "what is 6 * 7?")
        for _, event in frames(client, session):
            if event["type"] == "REASONING_MESSAGE_CHUNK":
                break
        assert server.stop() == 0
        assert "Traceback" not in server.errors
    with Server(tmp_path, *workers) as server, server.client() as client:
        events = stream(client, session)
        seqs = [json.loads(json.dumps(event["metadata"]))["seq"] for event in events]
        assert seqs == list(range(1, len(events) + 1))
        assert text_of(events).startswith("The tool says: **42**")
        assert [event["type"] for event in events].count("TOOL_CALL_RESULT") == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_open_sockets_are_closed_with_the_code_of_a_restart(tmp_path: Path, number: signal.Signals) -> None:
    """R1: a client knows that it should come back."""
    with Server(tmp_path) as server:
        address = f"ws{server.url.removeprefix('http')}/realtime"
        headers = {"Authorization": f"Bearer {KEY}"}
        with connect(address, additional_headers=headers, proxy=None, open_timeout=WAIT_S) as socket:
            socket.send(json.dumps({"type": "ping", "id": "1"}))
            assert "pong" in str(socket.recv(WAIT_S))
            assert server.stop(number) == 0
            with pytest.raises(ConnectionClosed) as closed:
                socket.recv(WAIT_S)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1012


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    """L14: whoever does not want to wait for a slow tool need not."""
    (tmp_path / "slow.py").write_text(SLOW)
    app = ("--app", str(tmp_path / "slow.py"))
    with Server(tmp_path, *app, environment=PATIENT) as server, server.client() as client:
        session = start_session(client, "sleeper")
        send(client, session, "nap 600")
        for _, event in frames(client, session):
            if event["type"] == "TOOL_CALL_END":
                break
        server.process.send_signal(signal.SIGTERM)
        server.expect_error(f"1 running: finished or released within {DRAIN_S:g} s")
        assert server.stop(signal.SIGTERM) == 0


def test_an_idle_server_stops_at_once(tmp_path: Path) -> None:
    """L14: nothing is waited for that is not there."""
    with Server(tmp_path, "--workers", "1", environment=PATIENT) as server:
        assert server.stop() == 0
