"""What traces add to a run: agio that sends each run to OpenAI's dashboard and to a collector, with texts, beside agio
that sends none.

Both serve at the same time and are asked in many short turns, one right after the other. A turn ends when the queue
of traces is empty, so that what it takes to make and send them is counted.
"""

import asyncio
import http.client
import json
import sys
import tempfile
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from statistics import median

from edge import AT_ONCE, SETTLE_S, WARM_UP_RUNS, range_of_median
from model_process import ModelServer
from origin import say
from page import OUT
from servers.load import put_load
from servers.processes import ServerProcess
from servers.subjects import NO_LIMITS, Server, agio

TARGET = 0.1
TOKENS = 200
RUNS = 100
POLL_S = 0.05


def subjects(base_url: str) -> dict[str, Server]:
    """Agio without traces, and with one or both services, which the model server plays."""
    off = agio("agio serve")
    limits = {
        "AGIO_LIMITS": json.dumps({**NO_LIMITS, "traces_s": 1.0}),
        "OPENAI_AGENTS_DISABLE_TRACING": "",
        "OTEL_SDK_DISABLED": "",
    }
    openai = {"OPENAI_TRACES_ENDPOINT": f"{base_url}/traces/ingest"}
    otlp = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"{base_url}/otlp",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true",
    }
    sets = {"off": {}, "again": {}, "openai": openai, "otlp": otlp, "both": {**openai, **otlp}}
    return {name: replace(off, name=name, extra=off.extra | limits | extra) for name, extra in sets.items()}


async def bench(turns: int) -> dict[str, object]:
    """Measure CPU milliseconds a run of 200 tokens, in turns."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="traces-", dir=OUT)))
        model = stack.enter_context(closing(ModelServer()))
        model.control(TOKENS, 0)
        processes: dict[str, ServerProcess] = {}
        for name, server in subjects(model.base_url).items():
            processes[name] = ServerProcess(server, folder / name, model.base_url)
            stack.callback(processes[name].stop)
            await processes[name].start()
            await _cost(processes[name], WARM_UP_RUNS)
        taken: dict[str, list[float]] = {name: [] for name in processes}
        for turn in range(turns):
            say(f"turn {turn + 1} of {turns}")
            names = list(processes)
            for name in names if turn % 2 else reversed(names):
                taken[name].append(await _cost(processes[name], RUNS))
    return {"runs_a_turn": RUNS, "tokens": TOKENS, "ms": taken}


async def _cost(process: ServerProcess, runs: int) -> float:
    before_ns = process.cpu_ns()
    await put_load(
        process.port, process.shape, tokens=TOKENS, at_once=AT_ONCE, enough=lambda begun: begun >= runs
    )
    await asyncio.sleep(SETTLE_S)
    spent_ns = process.cpu_ns() - before_ns
    while _waiting(process.port):  # asking costs something too: only what comes between is counted
        before_ns = process.cpu_ns()
        await asyncio.sleep(POLL_S)
        spent_ns += process.cpu_ns() - before_ns
    return spent_ns / runs / 1e6


def _waiting(port: int) -> int:
    """How many runs wait to be sent."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
    finally:
        connection.close()
    return sum(int(float(line.split()[-1])) for line in lines if line.startswith("agio_trace_queue{"))


def render(results: dict[str, object]) -> str:
    """Say it in a line for each."""
    taken: dict[str, list[float]] = results["ms"]
    off = median(taken["off"])
    lines = [
        f"CPU of a run of {TOKENS} tokens, {len(taken['off'])} turns of {RUNS} runs: {off:.2f} ms without traces"
    ]
    for name in ("again", "openai", "otlp", "both"):
        added = [a - b for a, b in zip(taken[name], taken["off"], strict=True)]
        low, high = range_of_median(added)
        lines.append(
            f"  {name:8} {median(added):+.2f} ms, {median(added) / off:+.0%} (95 %: {low:+.2f} to {high:+.2f})"
        )
    return "\n".join([*lines, f"  aim: under {TARGET:.0%} for a service"])


if __name__ == "__main__":
    sys.exit("Run it with: make bench ARGS=traces")
