"""A whole server in the test's own event loop: gateway, worker and HTTP on a free loopback port."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

from msgspec import Struct

from agio.cli.client.server_client import ServerClient
from agio.core.config import ServerLimits
from agio.core.identity.principal import DEFAULT_TENANT, LOCAL_USER
from agio.core.tool import AnyTool
from agio.drivers.endpoint import Endpoint
from agio.drivers.registry import SERVICES
from agio.gateway.auth.authenticator import describe_key, hash_secret, new_api_key
from agio.gateway.gateway import Gateway
from agio.gateway.routes.runs.outcome import RunOutcome
from agio.gateway.workers.connected_worker import HERE
from agio.protocol.ids import new_id
from agio.server.composition import STORE_NAME, GatewayConfig, make_http_server, opened_gateway
from agio.server.listening import listen, loopback_url
from agio.testing.server import ModelServer
from agio.worker.app import App, CodeAgent
from agio.worker.link_socket import SocketLink
from agio.worker.service import WorkerService

START_S = 60.0
_LEAVE_S = 0.5


class ServingClient(ServerClient):
    """A REST client with an admin's API key. Its `url` and `headers` fit any other client."""

    async def ask(self, agent: str, text: str, *, session_id: str | None = None) -> str:
        """Send a message to an agent, by name or id, wait for its run and return the answer's text."""
        body = {"agent": agent, "input": text} | ({} if session_id is None else {"session_id": session_id})
        outcome = await self.post("/api/agent/run", body, RunOutcome)
        return "".join(segment.text for segment in outcome.output if segment.type == "text")


class ServedGateway(Struct, frozen=True):
    """A gateway that accepts requests at `url`."""

    url: str
    gateway: Gateway


@asynccontextmanager
async def serve_in_process(
    plan: GatewayConfig, worker: WorkerService, *, link: Literal["direct", "websocket"] = "direct"
) -> AsyncGenerator[ServedGateway]:
    """Serve a gateway with one worker on a free loopback port; it stops on exit, the store is kept.

    With `websocket` the worker connects like a remote one, and the plan needs a `worker_key`.
    """
    with listen("127.0.0.1", 0) as sock:
        async with opened_gateway(plan) as gateway:
            server = make_http_server(gateway, sock)
            await gateway.start("at once")
            tasks = [asyncio.create_task(gateway.watch()), asyncio.create_task(server.run())]
            socket_link: SocketLink | None = None
            try:
                async with asyncio.timeout(START_S):
                    await server.wait_started()
                    if link == "direct":
                        await worker.join(gateway.pool.connect(worker, HERE))
                    else:
                        socket_link = SocketLink(loopback_url(sock), plan.worker_key or "", worker)
                        tasks.append(asyncio.create_task(socket_link.run()))
                        await socket_link.joined.wait()
                yield ServedGateway(loopback_url(sock), gateway)
            finally:
                await worker.leave(_LEAVE_S)
                if socket_link is not None:
                    await socket_link.close()
                gateway.hub.close()
                server.stop(at_once=True)
                tasks[0].cancel()
                await asyncio.wait(tasks)


@asynccontextmanager
async def serving(
    *,
    agents: Sequence[CodeAgent] = (),
    tools: Sequence[AnyTool] = (),
    model: ModelServer | None = None,
    data: Path | None = None,
    limits: ServerLimits | None = None,
) -> AsyncGenerator[ServingClient]:
    """Serve agents and tools in this event loop and yield a client with an admin's API key.

    The store is a file in `data`, or in a temporary folder that is removed. With `model`, that server
    is the provider `openai`, `openai-chat`, `anthropic` and `gemini` of agents created over REST. `demo` always works.
    """
    endpoints = {"demo": Endpoint()}
    if model is not None:
        endpoints |= {wire: model.endpoint(wire) for wire in SERVICES}
    app = App({agent.spec.name: agent for agent in agents}, {tool.name: tool for tool in tools})
    limits = limits or ServerLimits()
    with tempfile.TemporaryDirectory(prefix="agio-") as folder:
        plan = GatewayConfig(database=(data or Path(folder)) / STORE_NAME, limits=limits)
        worker = WorkerService(new_id("wrk"), room=limits.running_per_worker, endpoints=endpoints, app=app)
        async with serve_in_process(plan, worker) as served:
            key = new_api_key()
            described = describe_key(key, DEFAULT_TENANT, LOCAL_USER, "test")
            await served.gateway.store.add_api_key(described, hash_secret(key))
            yield ServingClient(served.url, key)
