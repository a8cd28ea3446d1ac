"""Load on a server: clients that each make one run after the other, every run checked."""

import asyncio
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median

from model_answers import answer_tokens
from servers.client import Client, ConnectionLost, Reply
from servers.shapes import Refused, Shape

RUN_TIMEOUT_S = 120


class ServerFailed(Exception):
    """A server could not do the work, or did other work than was asked: it gets no figures."""


@dataclass
class Loaded:
    """What the clients saw together."""

    runs: int = 0
    wall_s: float = 0
    first_piece_s: list[float] = field(default_factory=list)

    @property
    def first_piece_ms(self) -> float:
        return median(self.first_piece_s) * 1000

    @property
    def first_piece_p99_ms(self) -> float:
        ordered = sorted(self.first_piece_s)
        return ordered[len(ordered) * 99 // 100] * 1000


class OpenStreams:
    """Streams that have shown text and go on: `all_open` is set when there are as many as expected."""

    def __init__(self, expected: int) -> None:
        self._missing = expected
        self.all_open = asyncio.Event()

    def opened(self) -> None:
        self._missing -= 1
        if not self._missing:
            self.all_open.set()


async def put_load(
    port: int,
    shape: Shape,
    *,
    tokens: int,
    at_once: int,
    enough: Callable[[int], bool],
    streams: OpenStreams | None = None,
    spread_s: float = 0,
) -> Loaded:
    """Let `at_once` clients begin runs until there are `enough`, and wait for the last. Raises ServerFailed.

    The clients' first runs are spread evenly over `spread_s`.
    """
    loaded = Loaded()
    begun = 0

    async def be_client(number: int) -> None:
        nonlocal begun
        await asyncio.sleep(spread_s * number / at_once)
        client = Client(port, streams.opened if streams else None)
        try:
            while not enough(begun):
                begun += 1
                asked_at = time.perf_counter()
                async with asyncio.timeout(RUN_TIMEOUT_S):
                    reply = await shape(client)
                check(reply, tokens)
                loaded.runs += 1
                loaded.first_piece_s.append(reply.first_piece_at - asked_at)
        finally:
            client.close()

    began_at = time.perf_counter()
    try:
        async with asyncio.TaskGroup() as clients:
            for number in range(at_once):
                clients.create_task(be_client(number))
    except* (ConnectionLost, Refused, ServerFailed, OSError, TimeoutError) as errors:
        first = errors.exceptions[0]
        raise ServerFailed(f"{type(first).__name__}: {first}") from errors
    loaded.wall_s = time.perf_counter() - began_at
    return loaded


def check(reply: Reply, tokens: int) -> None:
    """Raises ServerFailed unless a stream had every piece of text and the right end."""
    if reply.status != 200 or reply.pieces != tokens or not reply.ended:
        raise ServerFailed(f"status {reply.status}, {reply.pieces} pieces of {tokens}: {reply.body[-300:]!r}")


async def check_one_run(port: int, shape: Shape, tokens: int) -> None:
    """Make one run and compare its text with what the model said, word by word. Raises ServerFailed."""
    client = Client(port, keep=True)
    try:
        async with asyncio.timeout(RUN_TIMEOUT_S):
            reply = await shape(client)
    except (ConnectionLost, Refused, OSError, TimeoutError) as error:
        raise ServerFailed(f"{type(error).__name__}: {error}") from error
    finally:
        client.close()
    check(reply, tokens)
    words = re.findall(rb'"(?:delta|content)":"( word\d+)"', reply.body)
    said = [token.encode() for token in answer_tokens(tokens)]
    if words[: len(said)] != said:
        raise ServerFailed(f"the text is not the model's: {b''.join(words)[:100]!r}")
