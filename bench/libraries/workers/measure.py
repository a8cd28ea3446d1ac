"""The inside of a worker process: measures runs of one library on request, one JSON line each way.

Standard library only, because it runs in every library's own virtual environment.
"""

import argparse
import asyncio
import importlib.metadata
import json
import os
import platform
import resource
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple

INSTRUCTIONS = "You are a helpful assistant."
QUESTION = "What is 2+3?"
MODEL = "gpt-4o-mini"
API_KEY = "sk-mock"
HANG_S = 300

tool_calls: list[tuple[int, int]] = []


def add(a: int, b: int) -> int:
    """Add two numbers."""
    tool_calls.append((a, b))
    return a + b


class Options(NamedTuple):
    """How this worker runs its library. `store` is a path, or empty for no store."""

    base_url: str
    wire: str
    store: str


class Seen(NamedTuple):
    """What a caller saw of one run: the pieces of the answer as they came, and the answer at the end."""

    deltas: list[str]
    final: str


class Subject(NamedTuple):
    """One library ready to run. `verify` looks at what the last measurement left behind."""

    run: Callable[[], Awaitable[Seen]]
    verify: Callable[[], Awaitable[None]] | None = None


class Unverified(Exception):
    """A run did not do the work that is being measured."""


OpenSubject = Callable[[Options], AbstractAsyncContextManager[Subject]]


def serve(open_subject: OpenSubject, distributions: list[str]) -> None:
    """Answer commands from stdin until it ends. Nothing but the answers goes to stdout."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--wire", choices=["chat", "responses"], required=True)
    parser.add_argument("--loop", choices=["asyncio", "uvloop"], required=True)
    parser.add_argument("--store", default="")
    args = parser.parse_args()
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def answer(**fields: object) -> None:
        answers.write(json.dumps(fields) + "\n")

    async def main() -> None:
        try:
            async with open_subject(Options(args.base_url, args.wire, args.store)) as subject:
                answer(versions=versions(distributions))
                for line in sys.stdin:
                    answer(**await measure(subject, **json.loads(line)))
            answer(closed=True)
        except BaseException as error:
            answer(error=f"{type(error).__name__}: {error}")
            raise

    if args.loop == "uvloop":
        import uvloop

        uvloop.run(main())
    else:
        asyncio.run(main())


async def measure(
    subject: Subject, *, tokens: int, answer: str, at_once: int, runs: int, cpu_s: float
) -> dict[str, float]:
    """Run in rounds of `at_once` until both `runs` and `cpu_s` are reached; raises Unverified."""
    signal.alarm(HANG_S)
    tool_calls.clear()

    async def one() -> None:
        seen = await subject.run()
        if len(seen.deltas) != tokens or "".join(seen.deltas) != answer:
            raise Unverified(f"{len(seen.deltas)} deltas of {tokens} seen: {''.join(seen.deltas)[:60]!r}")
        if seen.final != answer:
            raise Unverified(f"the answer at the end is not the one streamed: {seen.final[:60]!r}")

    done = 0
    began_s = process_cpu_s()
    while done < runs or process_cpu_s() - began_s < cpu_s:
        if at_once == 1:
            await one()
        else:
            await asyncio.gather(*(one() for _ in range(at_once)))
        done += at_once
    spent_s = process_cpu_s() - began_s
    if tool_calls != [(2, 3)] * done:
        raise Unverified(f"{len(tool_calls)} tool calls in {done} runs")
    measured = {
        "runs": done,
        "cpu_ms_per_run": spent_s / done * 1000,
        "process_cpu_ms": process_cpu_s() * 1000,
        "peak_mb": peak_memory_mb(),
    }
    if subject.verify:
        await subject.verify()
    signal.alarm(0)
    return measured


def process_cpu_s() -> float:
    """User and system time of this process, all threads."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def peak_memory_mb() -> float:
    """The most memory this process has had resident at once."""
    try:
        with open("/proc/self/status") as status:
            fields = dict(line.split(":", 1) for line in status)
        return int(fields["VmHWM"].split()[0]) / 1024
    except FileNotFoundError:
        unit = 1024 * 1024 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def versions(distributions: list[str]) -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in [*distributions, "uvloop"]:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
