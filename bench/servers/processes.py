"""A server under test as a process of its own, with a folder of its own on disk."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

from environments import quiet_environment
from servers.accounting import Used, read_cpu_ns, read_used
from servers.client import Client, ConnectionLost
from servers.load import ServerFailed
from servers.shapes import Refused, Shape, get
from servers.subjects import NotPrepared, Place, Server

START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 10
POLL_S = 0.005


class ServerProcess:
    """One server, started as often as asked; `start` leaves it running."""

    def __init__(self, server: Server, folder: Path, base_url: str) -> None:
        self.server = server
        self._folder = folder
        self._base_url = base_url
        self._starts = 0
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0
        self.shape: Shape

    async def start(self) -> float:
        """Start it on a fresh folder; returns the seconds until it served a request. Raises ServerFailed."""
        self._starts += 1
        place = Place(self._folder / str(self._starts), free_port(), self._base_url)
        place.folder.mkdir(parents=True)
        self._log = place.folder / "log"
        self._log.touch()
        if self.server.prepare:
            try:
                self.server.prepare(place)
            except NotPrepared as error:
                raise ServerFailed(str(error)) from error
        began_at = time.perf_counter()
        self._process = self._spawn(place)
        self.port = place.port
        await self._wait_until_ready()
        seconds = time.perf_counter() - began_at
        self.shape = await self._find_shape()
        return seconds

    def _spawn(self, place: Place) -> subprocess.Popen[bytes]:
        with self._log.open("w") as log:
            return subprocess.Popen(
                self.server.command(place),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=place.folder,
                env=quiet_environment(place.folder) | self.server.environment(place),
                start_new_session=True,
            )

    def used(self) -> Used:
        return read_used(self._process.pid)

    def cpu_ns(self) -> int:
        """What its threads have used of the CPU so far; those that have ended are not counted."""
        return read_cpu_ns(self._process.pid)

    def stop(self) -> None:
        """End it and whatever it has started."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    def last_words(self) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return " ".join(lines[-3:])[-500:]

    async def _find_shape(self) -> Shape:
        client = Client(self.port)
        try:
            return await self.server.shape(client)
        except (ConnectionLost, OSError, Refused, TimeoutError) as error:
            raise ServerFailed(f"{type(error).__name__}: {error}") from error
        finally:
            client.close()

    async def _wait_until_ready(self) -> None:
        deadline = time.perf_counter() + START_TIMEOUT_S
        while time.perf_counter() < deadline:
            if self._process.poll() is not None:
                raise ServerFailed(f"ended with code {self._process.returncode}: {self.last_words()}")
            client = Client(self.port)
            try:
                async with asyncio.timeout(START_TIMEOUT_S):
                    reply = await client.ask(get(self.server.ready_path))
                if reply.status < 500:
                    return
            except (OSError, ConnectionLost, TimeoutError):
                pass
            finally:
                client.close()
            await asyncio.sleep(POLL_S)
        raise ServerFailed(f"served nothing within {START_TIMEOUT_S} s: {self.last_words()}")


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]
