"""Sends a run to a real Arize Phoenix, and asks Phoenix for it: `make compat`. The argument is Phoenix' program."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.support.ports import free_port
from tests.support.process import KEY, Server

WAIT_S = 180.0
PROJECT = "agio"


@contextmanager
def phoenix(program: str, folder: Path) -> Generator[str]:
    """Run Phoenix until the end of the block; its address."""
    port, grpc = str(free_port()), str(free_port())
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_PORT": port,
        "PHOENIX_GRPC_PORT": grpc,
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    with (folder / "phoenix.log").open("wb") as log:
        process = subprocess.Popen([program, "serve"], env=environment, stdout=log, stderr=log)
        try:
            url = f"http://127.0.0.1:{port}"
            _until(lambda: httpx.get(f"{url}/healthz").status_code == 200, "Phoenix to start")
            yield url
        finally:
            process.terminate()
            process.wait()


def main(program: str) -> None:
    """Send a run with a tool call, and print what Phoenix has of it."""
    with tempfile.TemporaryDirectory(prefix="compat-") as name:
        folder = Path(name)
        with phoenix(program, folder) as url:
            environment = {
                "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{url}/v1/traces",
                "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
                "OTEL_RESOURCE_ATTRIBUTES": f"openinference.project.name={PROJECT}",
                "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true",
                "AGIO_OPENINFERENCE": "true",
                "AGIO_LIMITS": '{"traces_s": 0.5}',
            }
            with Server(folder, environment=environment) as server:
                run = _ask(server.url)
                spans = _spans(url)
    kinds = {span["name"]: span["span_kind"] for span in spans}
    assert {"AGENT", "LLM", "CHAIN"} <= set(kinds.values()), kinds
    assert all(span["attributes"]["agio.run.id"] == run for span in spans), spans
    [call, *_] = [span for span in spans if span["span_kind"] == "LLM"]
    assert "Hello" in str(call["attributes"]), call
    print(f"Phoenix has {len(spans)} spans of run {run}: {', '.join(sorted(kinds))}")


def _ask(url: str) -> str:
    headers = {"authorization": f"Bearer {KEY}"}
    answer = httpx.post(
        f"{url}/api/agent/run", json={"agent": "demo", "input": "Hello"}, headers=headers, timeout=WAIT_S
    ).json()
    assert answer["status"] == "completed", answer
    return str(answer["id"])


def _spans(url: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []

    def look() -> bool:
        answer = httpx.get(f"{url}/v1/projects/{PROJECT}/spans", params={"limit": 100})
        found[:] = answer.json()["data"] if answer.status_code == 200 else []
        return len(found) >= 3

    _until(look, "the spans")
    return found


def _until(is_so: Any, what: str) -> None:
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        try:
            if is_so():
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    raise TimeoutError(f"{what}: not within {WAIT_S:g} s")


if __name__ == "__main__":
    main(sys.argv[1])
