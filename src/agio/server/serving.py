"""`agio serve` and `agio gateway`: a gateway on a socket, with a worker in the same loop, worker processes, or none."""

import asyncio
import logging
import secrets
import socket
from pathlib import Path

from msgspec import Struct, structs

from agio.bus.options import NatsOptions
from agio.db.operate.preflight import has_account
from agio.egress import Egress
from agio.errors import UserError
from agio.gateway.gateway import Gateway
from agio.protocol.ids import new_id
from agio.server.address import note_address
from agio.server.announcement import Announcement
from agio.server.composition import GatewayConfig, database_of, make_http_server, opened_gateway
from agio.server.first_start import offer_sign_in
from agio.server.lifetime import Lifetime
from agio.server.listening import is_public, listen, loopback_url, url_of
from agio.server.loops import event_loop, spare_what_stays
from agio.server.processes import Processes
from agio.settings import (
    ServerSettings,
    Settings,
    load_commands,
    read_public_url,
    worker_environment,
)
from agio.telemetry.logging import set_up_logging
from agio.worker.app import App, load_app
from agio.worker.service import WorkerService

_log = logging.getLogger("agio")

_LEAVE_S = 5.0
"""How long worker processes may take to exit once their runs are finished or released."""


class ServeOptions(Struct, frozen=True, kw_only=True):
    """What was asked on the command line. `workers` None is a worker in this process, 0 none at all."""

    host: str
    port: int
    data: Path | None
    workers: int | None
    app: str | None
    behind_tls: bool
    public_url: str | None = None
    """Instead of AGIO_PUBLIC_URL."""


def serve(options: ServeOptions, settings: Settings, server: ServerSettings) -> int:
    """Serve until a signal comes; return the exit code. Raises AgioError for what cannot begin."""
    set_up_logging(server.log_format, server.log_level)
    if options.public_url is not None:
        server = structs.replace(server, public_url=read_public_url(options.public_url))
    if options.behind_tls and server.public_url is not None and server.public_url.startswith("http:"):
        raise UserError(
            "invalid_setting",
            f"The public URL {server.public_url} is not encrypted, and --behind-tls says that it is: write https://.",
            {"variable": "AGIO_PUBLIC_URL"},
        )
    sock = listen(options.host, options.port)
    with sock, event_loop() as loop:
        app = load_app(options.app) if options.app is not None and options.workers is None else None
        return loop.run(_Server(options, settings, server, sock, app).run())


class _Server:
    def __init__(
        self,
        options: ServeOptions,
        settings: Settings,
        server: ServerSettings,
        sock: socket.socket,
        app: App | None,
    ) -> None:
        self._options = options
        self._settings = settings
        self._server = server
        self._socket = sock
        self._app = app
        self._worker_key = server.worker_key or (secrets.token_urlsafe(32) if options.workers else None)
        self._processes: Processes | None = None
        self._worker: WorkerService | None = None

    async def run(self) -> int:
        lifetime = Lifetime()
        lifetime.listen()
        database = database_of(self._settings, self._server, self._options.data)
        await self._check_edge(database)
        plan = GatewayConfig(
            database=database,
            limits=self._server.limits,
            worker_key=self._worker_key,
            bootstrap_key=self._server.bootstrap_api_key,
            secret_keys=self._server.secret_keys,
            egress_allow=self._server.egress_allow,
            hosts=[self._options.host],
            behind_tls=self._options.behind_tls,
            trusted_proxies=self._server.trusted_proxies,
            oidc=self._server.oidc,
            public_url=self._public_url(),
            prices=self._server.prices,
            currency=self._server.currency,
            traces=self._server.traces,
            mcp=load_commands(self._options.data or self._settings.data_dir),
            embeddings=self._server.embeddings,
            nats=self._bus_of(database),
            name=self._server.gateway_name,
            works=self._options.workers is None,
        )
        async with opened_gateway(plan) as gateway:
            http = make_http_server(gateway, self._socket)
            # A worker on another machine may still hold runs; one in or under this process cannot.
            await gateway.start("after grace" if self._options.workers == 0 else "at once")
            lifetime.begin("gateway", gateway.watch())
            serving = lifetime.begin("HTTP server", http.run())
            await self._begin_workers(gateway, lifetime)
            await http.wait_started()
            await self._announce(database, gateway)
            spare_what_stays()
            await lifetime.last()
            finished = await lifetime.hurried(self._drain(gateway))
            gateway.hub.close()
            http.stop(at_once=not finished)
            await asyncio.wait([serving])
            await self._end_workers()
        lifetime.deafen()
        return 1 if lifetime.failed else 0

    def _bus_of(self, database: str | Path) -> NatsOptions | None:
        """Raises UserError `invalid_setting`."""
        nats = self._server.nats
        if nats is not None and isinstance(database, Path):
            raise UserError(
                "invalid_setting",
                "AGIO_NATS_URL is for gateways that share a PostgreSQL database: set AGIO_DATABASE_URL too, or remove "
                "it. An SQLite store has one gateway.",
                {"variable": "AGIO_NATS_URL"},
            )
        return nats

    async def _check_edge(self, database: str | Path) -> None:
        """Refuse a public address while there is no account, and warn of open ones. Raises UserError `public_bind`."""
        host = self._options.host
        if self._options.behind_tls:
            if self._server.public_url is None:
                _log.warning(
                    "Every name leads here: say with --public-url by which one people call this server."
                )
            if not self._server.trusted_proxies:
                _log.warning("All clients have the proxy's address: name it in AGIO_TRUSTED_PROXIES.")
        elif is_public(self._socket):
            if not await has_account(database):
                raise UserError(
                    "public_bind",
                    f"{host} can be reached from other machines, there is no account yet, and keys and cookies "
                    "would travel in the clear. Put a proxy that ends TLS in front and say --behind-tls, or listen "
                    "on 127.0.0.1.",
                )
            _log.warning(
                "%s can be reached from other machines without TLS: browsers cannot sign in there, and API keys "
                "travel in the clear. Put a proxy that ends TLS in front and say --behind-tls.",
                host,
            )

    def _public_url(self) -> str | None:
        """The address people use: as it was named, or our own if only this machine can reach us."""
        if self._server.public_url is not None or self._options.behind_tls:
            return self._server.public_url
        return url_of(self._socket, self._options.host)

    async def _announce(self, database: str | Path, gateway: Gateway) -> None:
        if isinstance(database, Path):
            note_address(database, self._public_url())
        Announcement(
            url=url_of(self._socket, self._options.host),
            sign_in=await offer_sign_in(gateway.store),
            database=database,
            workers=self._options.workers,
            models=self._settings.with_models(),
            public_url=self._server.public_url,
            behind_tls=self._options.behind_tls,
        ).print()

    async def _begin_workers(self, gateway: Gateway, lifetime: Lifetime) -> None:
        options, limits = self._options, gateway.limits
        if options.workers is None:
            self._worker = WorkerService(
                new_id("wrk"),
                room=limits.running_per_worker,
                endpoints=self._settings.endpoints,
                app=self._app,
                egress=Egress(self._server.egress_allow),
            )
            await self._worker.join(gateway.pool.connect(self._worker))
        elif self._worker_key is not None and options.workers:
            arguments = ["--room", str(limits.running_per_worker)]
            if options.app is not None:
                arguments += ["--app", options.app]
            environment = worker_environment(
                AGIO_GATEWAY_URL=loopback_url(self._socket), AGIO_WORKER_KEY=self._worker_key
            )
            self._processes = Processes(options.workers, ["worker", *arguments], environment)
            lifetime.begin("worker processes", self._processes.run())

    async def _drain(self, gateway: Gateway) -> None:
        if running := len(gateway.pool.runs):
            words = "%d running: finished or released within %g s. A second signal ends agio at once."
            _log.info(words, running, gateway.limits.drain_s)
        if self._processes is not None:
            self._processes.hold()
        await gateway.pool.drain(gateway.limits.drain_s)
        if self._processes is not None:
            await self._processes.stop(_LEAVE_S)

    async def _end_workers(self) -> None:
        if self._processes is not None:
            self._processes.kill()
        if self._worker is not None:
            await self._worker.aclose()
