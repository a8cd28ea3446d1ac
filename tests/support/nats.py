"""A private NATS server from the test wheel."""

import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.ports import free_port

PROGRAM = Path(sys.prefix) / "bin" / "nats-server"
START_S = 30.0


class NatsServer:
    """A server on a loopback port that stays the same when it is started again."""

    def __init__(self, *arguments: str, config: str | None = None) -> None:
        self.port = free_port()
        self.monitor_port = free_port()
        self._folder = Path(tempfile.mkdtemp(prefix="agio-nats-"))
        self._arguments: Sequence[str] = arguments
        if config is not None:
            (self._folder / "nats.conf").write_text(config)
            self._arguments = (*arguments, "-c", str(self._folder / "nats.conf"))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its address."""
        return f"nats://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def start(self) -> None:
        """Start, or start again: it remembers nothing."""
        self._process = subprocess.Popen(
            [
                *(PROGRAM, "-a", "127.0.0.1", "-p", str(self.port), "-m", str(self.monitor_port)),
                *self._arguments,
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                assert self._process.poll() is None, "NATS did not start"
                time.sleep(0.01)
            else:
                return
        raise TimeoutError("NATS did not start")

    def kill(self) -> None:
        """`kill -9`."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def subjects(self) -> list[str]:
        """What its clients are subscribed to."""
        address = f"http://127.0.0.1:{self.monitor_port}/connz?subs=1"
        with urllib.request.urlopen(address, timeout=START_S) as answer:
            found = json.load(answer)
        return [subject for each in found["connections"] for subject in each.get("subscriptions_list", [])]
