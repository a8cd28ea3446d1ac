"""The heartbeat: it goes on whatever the loop does, and says when nobody answers."""

import asyncio
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from agio.worker.address import GatewayAddress, parse_address
from agio.worker.heartbeat import Heartbeat

PATIENCE_S = 60


class Gateway(ThreadingHTTPServer):
    """Answers heartbeats with one status, and counts them."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Door)
        self.status = 200
        self.beats: list[tuple[str, str, bytes]] = []
        self.heard = threading.Semaphore(0)

    @property
    def address(self) -> GatewayAddress:
        return parse_address(f"http://127.0.0.1:{self.server_port}")


class Door(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        gateway = self.server
        assert isinstance(gateway, Gateway)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        gateway.beats.append((self.path, self.headers["Authorization"], body))
        self.send_response(gateway.status)
        self.send_header("Content-Length", "0")
        self.end_headers()
        gateway.heard.release()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    server = Gateway()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def nothing() -> None:
    """Stand where a callback is not expected."""


async def test_a_worker_beats_while_its_loop_is_busy(gateway: Gateway) -> None:
    """B1: a worker that computes is not taken for a dead one."""
    heart = Heartbeat(gateway.address, "secret", "wrk_1", on_silence=nothing, on_gone=nothing)
    heart.start(0.02, 5, gateway.address)
    until = time.monotonic() + PATIENCE_S
    for _ in range(3):
        assert gateway.heard.acquire(timeout=until - time.monotonic())  # the loop stands still meanwhile
    heart.stop()
    assert gateway.beats[0] == ("/link/heartbeat", "Bearer secret", b"wrk_1")


@pytest.mark.parametrize("status", [401, 503])
async def test_silence_is_told_once_until_something_is_heard_again(gateway: Gateway, status: int) -> None:
    """B1: without an answer the worker stops its runs by itself, before others get them."""
    gateway.status = status
    silent = asyncio.Event()
    times: list[float] = []

    def on_silence() -> None:
        times.append(time.monotonic())
        silent.set()

    heart = Heartbeat(gateway.address, "secret", "wrk_1", on_silence=on_silence, on_gone=nothing)
    started = time.monotonic()
    heart.start(0.02, 0.2, gateway.address)
    async with asyncio.timeout(PATIENCE_S):
        await silent.wait()
        assert times[0] - started >= 0.2
        count = len(gateway.beats)
        while len(gateway.beats) < count + 3:
            await asyncio.to_thread(gateway.heard.acquire)
        assert len(times) == 1
        silent.clear()
        heart.heard()
        await silent.wait()
    heart.stop()


async def test_a_gateway_that_is_away_is_silence_too() -> None:
    """B1: nobody listening is no answer."""
    silent = asyncio.Event()
    nowhere = parse_address("http://127.0.0.1:1")
    heart = Heartbeat(nowhere, "s", "wrk_1", on_silence=silent.set, on_gone=nothing)
    heart.start(0.02, 0.1, nowhere)
    async with asyncio.timeout(PATIENCE_S):
        await silent.wait()
    heart.stop()


async def test_a_worker_the_gateway_has_given_up_is_told_to_come_again(gateway: Gateway) -> None:
    """B1: a worker that was given up greets anew rather than waiting for jobs that never come."""
    gateway.status = 410
    gone = asyncio.Event()
    heart = Heartbeat(gateway.address, "s", "wrk_1", on_silence=nothing, on_gone=gone.set)
    heart.start(0.02, 5, gateway.address)
    async with asyncio.timeout(PATIENCE_S):
        await gone.wait()
    heart.stop()
