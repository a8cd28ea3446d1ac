"""The servers that are measured: how each is started, and how it is asked for a run."""

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from environments import environment_python
from servers.client import Client
from servers.shapes import Shape, ask_json, by_ag_ui, by_langgraph, by_session, by_session_stream, get

APPS = Path(__file__).parent / "apps"
OURS = "agio"
FLOOR = "floor"
WORKER_TIMEOUT_S = 30
POLL_S = 0.05
KEY = "bench-key-" + "0" * 32
NO_LIMITS = {
    "running_per_user": 10_000,
    "running_per_key": 10_000,
    "running_per_tenant": 10_000,
    "running_per_worker": 10_000,
    "queued_per_tenant": 100_000,
    "queued_per_user": 100_000,
    "requests_per_minute": 10_000_000,
    "messages_per_minute": 10_000_000,
}


class Place(NamedTuple):
    """Where a server runs: its folder, its port, its model."""

    folder: Path
    port: int
    base_url: str


class NotPrepared(Exception):
    """What a server was to find at its start could not be made."""


@dataclass(frozen=True)
class Server:
    """A server under test. One that `keeps` nothing on disk is no peer in what is written there."""

    name: str
    project: str
    keeps: str
    distributions: tuple[str, ...]
    command: Callable[[Place], list[str]]
    shape: Callable[[Client], Awaitable[Shape]]
    extra: dict[str, str] = field(default_factory=dict)
    ready_path: str = "/"
    prepare: Callable[[Place], None] | None = None
    throughput_only: bool = False

    @property
    def is_peer(self) -> bool:
        return self.project not in (OURS, FLOOR)

    def environment(self, place: Place) -> dict[str, str]:
        return {
            "OPENAI_BASE_URL": place.base_url,
            "BENCH_STORE": str(place.folder / "bench.db"),
            "PYTHONPATH": str(APPS),
            **self.extra,
        }


def python_of(project: str) -> Path:
    """The interpreter that has it; makes the environment of a peer at first use."""
    return Path(sys.executable) if project == OURS else environment_python(project)


def find_versions(server: Server) -> dict[str, str]:
    """The versions of what a server is made of."""
    probe = "import importlib.metadata as m, sys; print(*map(m.version, sys.argv[1:]))"
    command = [python_of(server.project), "-c", probe, *server.distributions]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return dict(zip(server.distributions, found, strict=True))


def uvicorn(project: str, module: str) -> Callable[[Place], list[str]]:
    """An application of bench/servers/apps in one uvicorn process."""
    options = ["--host", "127.0.0.1", "--log-level", "warning", "--no-access-log"]

    def command(place: Place) -> list[str]:
        served = [str(python_of(project)), "-m", "uvicorn", f"{module}:app", "--port", str(place.port)]
        return [*served, *options, "--loop", "uvloop", "--http", "httptools"]

    return command


def langgraph_dev(place: Place) -> list[str]:
    """Its development server, which may run 256 jobs at once."""
    program = python_of("langgraph").with_name("langgraph")
    options = ["--no-browser", "--no-reload", "--n-jobs-per-worker", "256", "--server-log-level", "WARNING"]
    return [str(program), "dev", "--host", "127.0.0.1", "--port", str(place.port), *options]


def copy_graph(place: Place) -> None:
    """It keeps its files beside its configuration."""
    shutil.copytree(APPS / "langgraph_dev", place.folder, dirs_exist_ok=True)


def agio_serve(*options: str) -> Callable[[Place], list[str]]:
    def command(place: Place) -> list[str]:
        program = str(python_of(OURS).with_name("agio"))
        where = ["--host", "127.0.0.1", "--port", str(place.port), "--data", str(place.folder / "data")]
        return [program, "serve", *where, "--app", "agio_app", *options]

    return command


def filled(runs: int) -> Callable[[Place], None]:
    """Put finished runs into a store before its server starts; they are made once and then copied."""

    def prepare(place: Place) -> None:
        made = place.folder.parent / "filled" / "agio.db"
        if not made.exists():
            command = [python_of(OURS), APPS.parent / "fill_store.py", made, str(runs)]
            environment = {"PYTHONPATH": str(APPS), "OPENAI_BASE_URL": place.base_url}
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            if done.returncode:
                raise NotPrepared(done.stderr.strip()[-500:])
        shutil.copytree(made.parent, place.folder / "data")

    return prepare


def always(shape: Shape) -> Callable[[Client], Awaitable[Shape]]:
    async def ready(client: Client) -> Shape:
        return shape

    return ready


async def find_agent(client: Client) -> str:
    """The id of the agent that agio_app defines, once a worker has come with it. Raises TimeoutError."""
    async with asyncio.timeout(WORKER_TIMEOUT_S):
        while True:
            listed = await ask_json(client, get("/api/agents", KEY))
            for agent in listed["items"]:
                if agent["name"] == "bench":
                    return agent["id"]
            await asyncio.sleep(POLL_S)


async def agio_ag_ui(client: Client) -> Shape:
    return by_ag_ui(f"/api/agents/{await find_agent(client)}/ag-ui", KEY)


async def agio_sessions(client: Client) -> Shape:
    return by_session_stream(await find_agent(client), KEY)


def agio(
    name: str,
    *options: str,
    shape: Callable[[Client], Awaitable[Shape]] = agio_ag_ui,
    prepare: Callable[[Place], None] | None = None,
    throughput_only: bool = False,
) -> Server:
    return Server(
        name,
        OURS,
        "every event, before it is shown",
        ("agio", "apsw", "msgspec", "uvicorn", "uvloop"),
        agio_serve(*options),
        shape,
        {"AGIO_BOOTSTRAP_API_KEY": KEY, "AGIO_LIMITS": json.dumps(NO_LIMITS)},
        ready_path="/api/ready",
        prepare=prepare,
        throughput_only=throughput_only,
    )


def servers(filled_runs: int) -> tuple[Server, ...]:
    """Every server, ours first. `filled_runs` are in one store of ours before it begins."""
    openai_agents = Server(
        "openai-agents, FastAPI, chat",
        "openai-agents",
        "messages",
        ("openai-agents", "openai", "fastapi", "pydantic", "uvicorn"),
        uvicorn("openai-agents", "openai_agents_app"),
        always(by_session("/run")),
    )
    return (
        agio("agio serve"),
        agio("agio serve, its own stream", shape=agio_sessions),
        agio(f"agio serve, {filled_runs:,} runs before", prepare=filled(filled_runs)),
        agio("agio serve --workers 1", "--workers", "1", throughput_only=True),
        agio("agio serve --workers 2", "--workers", "2", throughput_only=True),
        openai_agents,
        replace(openai_agents, name="openai-agents, FastAPI, responses", extra={"BENCH_WIRE": "responses"}),
        Server(
            "agno AgentOS, AG-UI",
            "agno",
            "messages",
            ("agno", "openai", "fastapi", "sqlalchemy", "uvicorn"),
            uvicorn("agno", "agno_app"),
            always(by_ag_ui("/agui")),
        ),
        Server(
            "pydantic-ai, AG-UI",
            "pydantic-ai",
            "",
            ("pydantic-ai-slim", "openai", "fastapi", "pydantic", "uvicorn"),
            uvicorn("pydantic-ai", "pydantic_ai_app"),
            always(by_ag_ui("/ag-ui")),
        ),
        Server(
            "langgraph dev",
            "langgraph",
            "",
            ("langgraph", "langgraph-api", "langchain-openai", "openai", "uvicorn"),
            langgraph_dev,
            always(by_langgraph("bench")),
            ready_path="/ok",
            prepare=copy_graph,
        ),
        Server(
            "floor: raw ASGI, msgspec, apsw",
            FLOOR,
            "messages and text, at the end",
            ("apsw", "msgspec", "uvicorn", "uvloop"),
            uvicorn("floor", "floor_app"),
            always(by_session("/run")),
        ),
    )
