"""`agio worker`: runs agents for a gateway over the network. It has models and the user's module, but no store."""

import asyncio
from collections.abc import Callable
from functools import partial

from agio.egress import Egress
from agio.errors import UserError
from agio.protocol.ids import new_id
from agio.server.descriptors import raise_descriptor_limit
from agio.server.lifetime import Lifetime
from agio.server.loops import event_loop, spare_what_stays
from agio.server.parent import end_with_parent
from agio.settings import ServerSettings, Settings, held_by_worker
from agio.telemetry.logging import set_up_logging
from agio.worker.app import App, load_app
from agio.worker.health import serve_health
from agio.worker.link_socket import SocketLink
from agio.worker.service import WorkerService


def work(
    app: str | None,
    room: int | None,
    settings: Settings,
    server: ServerSettings,
    *,
    health_port: int | None = None,
    until_stdin_ends: bool,
) -> int:
    """Run until a signal; return the exit code. Raises AgioError if it cannot start."""
    set_up_logging(server.log_format, server.log_level)
    raise_descriptor_limit()
    if until_stdin_ends:
        end_with_parent()
    if held := held_by_worker():
        raise UserError(
            "not_for_workers",
            f"Unset {', '.join(held)}: a worker reaches its gateway alone, and holds no address or key of the database "
            "and the bus.",
            {"variables": held},
        )
    if server.gateway_url is None:
        raise UserError(
            "missing_setting", "Set AGIO_GATEWAY_URL to the gateway's address, such as http://10.0.0.5:8700."
        )
    if server.worker_key is None:
        raise UserError("missing_setting", "Set AGIO_WORKER_KEY to the key the gateway was started with.")
    loaded = App() if app is None else load_app(app)
    with event_loop() as loop:
        worker = WorkerService(
            new_id("wrk"),
            room=room or server.limits.running_per_worker,
            endpoints=settings.endpoints,
            app=loaded,
            egress=Egress(server.egress_allow),
        )
        link = partial(SocketLink, server.gateway_url, server.worker_key, worker)
        return loop.run(_work(worker, link, server.limits.drain_s, health_port))


async def _work(
    worker: WorkerService, make_link: Callable[[], SocketLink], drain_s: float, health_port: int | None
) -> int:
    lifetime = Lifetime()
    lifetime.listen()
    link = make_link()
    async with serve_health(health_port, lambda: not link.out_of_touch()) as port:
        if port is not None:
            print(f"agio worker: health on http://127.0.0.1:{port}", flush=True)
        linked = lifetime.begin("link", link.run())
        spare_what_stays()
        await lifetime.last()
        if lifetime.failed:
            await worker.aclose()
            linked.result()
            return 1
        await lifetime.hurried(worker.leave(drain_s))
        await link.close()
    await asyncio.wait([linked])
    lifetime.deafen()
    return 0
