"""A noisy neighbour: one tenant sends the worst it may on four connections, another's small requests must not wait.

`python -m tests.fuzz.noise`, part of `make fuzz` only: it measures time. The limits are those of a server by default.
"""

import asyncio
import http.client
import json
import multiprocessing
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import TypeAlias

import httpx

from agio.gateway.auth.authenticator import describe_key, hash_secret, new_api_key
from agio.server.stores import open_database
from tests.support.house import AGENT
from tests.support.process import Server, answer_of

CONNECTIONS = 4
REQUESTS = 150
PAUSE_S = 0.02
START_S = 0.7
"""How long a process takes to begin with its noise."""
SETTLE_S = 60.0
RETRY_S = 1.0
LIMIT_MS = 100.0
MARK = b"a-mark-that-is-different-in-each-request"
JSON = "application/json"
Case: TypeAlias = tuple[str, str, str, bytes]
"""Method, path, media type, body."""


def _input(**more: object) -> bytes:
    user = {"id": MARK.decode(), "role": "user", "content": "Hello"}
    given = {"threadId": MARK.decode(), "runId": MARK.decode(), "messages": [user], **more}
    return json.dumps(given).encode()


def _offering(count: int, schema: Callable[[int], object]) -> bytes:
    tools = [{"name": f"t{at}", "description": "", "parameters": schema(at)} for at in range(count)]
    return _input(tools=tools)


def _patterns(tool: int) -> object:
    every = [{"pattern": f"^[a-z]{{1,9}}{tool}_{at}$"} for at in range(700)]
    return {"type": "object", "properties": {"a": {"allOf": every}}}


def _wide(tool: int) -> object:
    return {"type": "object", "properties": {f"p{at}": {"type": "string"} for at in range(300)}}


def _tool(schema: object) -> bytes:
    name = MARK.decode()
    return json.dumps({"name": name, "method": "GET", "url": "https://a.org/", "parameters": schema}).encode()


def cases(agent: str, session: str) -> dict[str, Case]:
    """Return the worst legal input of each kind."""
    door = f"/api/agents/{agent}/ag-ui"
    letters = [{"pattern": rf"\p{{L}}{{6}}{at}{MARK.decode()}"} for at in range(32)]
    empty: dict[str, object] = {}
    parts = {"type": "object", "allOf": [{"title": MARK.decode()}, *([empty] * 3900)]}
    old = [
        {"id": str(at), "role": "user", "content": [{"type": "text", "text": "x" * 500}]}
        for at in range(19_000)
    ]
    form = b'--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n' + b"x" * 20_000_000
    agents = {**AGENT, "name": MARK.decode(), "output_schema": {"allOf": letters}}
    return {
        "700 patterns in each of 32 tools": ("POST", door, JSON, _offering(32, _patterns)),
        "9,700 parts in 32 tools": ("POST", door, JSON, _offering(32, _wide)),
        "12 MB of ignored state": ("POST", door, JSON, _input(state=[empty] * 3_000_000)),
        "12 MB of messages": ("POST", door, JSON, _input(messages=old)),
        "a tool with 32 large patterns": (
            *("POST", "/api/agent-tools", JSON),
            _tool({"type": "object", "allOf": letters}),
        ),
        "a tool with 3,900 parts": ("POST", "/api/agent-tools", JSON, _tool(parts)),
        "an output schema with patterns": ("POST", "/api/agents", JSON, json.dumps(agents).encode()),
        "1 MB of lists": ("POST", "/api/agents", JSON, b'{"name": [%s[]]}' % (b"[]," * 330_000)),
        "1 MB of deep lists": ("POST", "/api/agents", JSON, b"[" * 500_000 + b"]" * 500_000),
        "1 MB of numbers": ("POST", "/api/agents", JSON, b'{"tools": [%s1]}' % (b"1," * 500_000)),
        "a long message": (
            *("POST", f"/api/agent-sessions/{session}/message", JSON),
            json.dumps({"content": "word " * 50_000}).encode(),
        ),
        "a long search": (
            *("GET", "/api/agent-sessions?search=" + "+".join(["word"] * 40) + "&limit=100"),
            *(JSON, b""),
        ),
        "20 MB files": ("POST", "/api/files", "multipart/form-data; boundary=b", form + b"\r\n--b--\r\n"),
    }


def _send(host: str, key: str, case: Case) -> None:
    method, path, kind, body = case
    while True:
        connection = http.client.HTTPConnection(host, timeout=30)
        try:
            while True:
                unlike = body.replace(MARK, b"n" + token_hex(8).encode()) if MARK in body else body
                headers = {"authorization": f"Bearer {key}", "content-type": kind}
                connection.request(method, path, unlike, headers)
                connection.getresponse().read()
        except (OSError, http.client.HTTPException):  # refused before it was read
            pass
        finally:
            connection.close()


def make_noise(host: str, key: str, case: Case) -> None:
    """Send one thing again and again until the process is ended."""
    for _ in range(CONNECTIONS):
        threading.Thread(target=_send, args=(host, key, case)).start()


def p95_ms(client: httpx.Client) -> float:
    """Send small requests, and return how long most of them take at most."""
    took: list[float] = []
    for _ in range(REQUESTS):
        began = time.perf_counter()
        assert client.get("/api/agents?limit=1").status_code == 200
        took.append(1000 * (time.perf_counter() - began))
        time.sleep(PAUSE_S)
    return sorted(took)[int(0.95 * REQUESTS)]


async def _add_keys(data: Path, tenants: Iterable[str]) -> list[str]:
    """Give each tenant a key: what it may still ask for is counted by key."""
    store = await open_database(data / "agio.db")
    keys: list[str] = []
    for tenant in tenants:
        keys.append(new_api_key())
        await store.add_tenant(tenant, tenant)
        await store.add_user(tenant, "owner", "Owner", "owner")
        await store.add_api_key(describe_key(keys[-1], tenant, "owner", "noise"), hash_secret(keys[-1]))
    await store.close()
    return keys


@contextmanager
def noise(server: Server, key: str, name: str) -> Generator[None]:
    """Let a tenant be noisy meanwhile."""
    with _client(server, key) as client:
        agent = str(answer_of(client.post("/api/agents", json=AGENT))["id"])
        session = str(answer_of(client.post(f"/api/agents/{agent}/sessions", json={}))["id"])
    given = (httpx.URL(server.url).netloc.decode(), key, cases(agent, session)[name])
    process = multiprocessing.get_context("spawn").Process(target=make_noise, args=given)
    process.start()
    try:
        yield
    finally:
        process.kill()
        process.join()
        with _client(server, key) as client:  # what it left in the queue is not the next one's noise
            until = time.monotonic() + SETTLE_S
            while client.get(f"/api/agent-sessions/{session}/status").json().get("state") != "idle":
                assert time.monotonic() < until
                client.post(f"/api/agent-sessions/{session}/cancel")
                time.sleep(RETRY_S)  # it has used up its requests, too


def _client(server: Server, key: str) -> httpx.Client:
    headers = {"authorization": f"Bearer {key}"}
    return httpx.Client(base_url=server.url, headers=headers, timeout=60, trust_env=False)


def main() -> int:
    """Measure beside each kind of noise; 1 if the quiet tenant waited too long for one of them."""
    names = [name for name in cases("", "") if name.startswith(tuple(sys.argv[1:]) or "")]
    slow: list[str] = []
    print(f"{'the p95 of the other tenant':34} {'alone':>11} {'beside':>11} {'ratio':>10}")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "data").mkdir()
        loud = asyncio.run(_add_keys(Path(folder) / "data", [*names, *(["quiet"] * len(names))]))
        with Server(Path(folder)) as server:
            for name, key, quiet in zip(names, loud, loud[len(names) :], strict=False):
                with _client(server, quiet) as client:
                    alone = p95_ms(client)
                    with noise(server, key, name):
                        time.sleep(START_S)
                        beside = p95_ms(client)
                print(f"{name:34} {alone:8.1f} ms {beside:8.1f} ms {beside / alone:8.1f} x", flush=True)
                if beside > LIMIT_MS:
                    slow.append(name)
    if slow:
        print(f"Above {LIMIT_MS:g} ms: {', '.join(slow)}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
