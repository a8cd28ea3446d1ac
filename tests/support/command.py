"""Runs the real command line in processes of its own, far from anybody's home."""

import asyncio
import json
import multiprocessing
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from io import FileIO, TextIOWrapper
from pathlib import Path
from typing import cast

from agio.cli.main import main
from agio.core.store.repository import RunInfo
from agio.db.repository import open_store
from agio.errors import StoreError

WAIT_S = 120.0
"""No command may take longer, however busy the machine is."""

AGIO = (sys.executable, "-m", "agio.cli.main")

_FORKING = multiprocessing.get_context("forkserver")
"""Forks commands from a process that has imported them: half of what they take is to import."""
_FORKING.set_forkserver_preload(["tests.support.commands_imported"])


def _run(arguments: Sequence[str], environment: Mapping[str, str], streams: Sequence[str]) -> None:
    """Be `agio` in a forked process, with these files for its standard streams."""
    os.environ.clear()
    os.environ.update(environment)
    for number, name in enumerate(streams):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | (os.O_TRUNC if number else 0)), number)
    sys.stdin, sys.stdout, sys.stderr = (
        TextIOWrapper(FileIO(number, mode, closefd=False), "utf-8") for number, mode in enumerate("rww")
    )
    sys.argv = ["agio", *arguments]
    main()


class Cli:
    """The command line with a home and a data folder in a temporary place."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.data = home / "data"
        self.store = self.data / "agio.db"
        self.start_arguments = AGIO
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "AGIO_DATA": str(self.data),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
        }

    def run(self, *arguments: str, given: str | bytes = b"") -> subprocess.CompletedProcess[str]:
        """Run a command to its end, in a process of its own; `given` is its standard input."""
        names = [str(self.home / f"standard-{stream}") for stream in ("input", "output", "error")]
        Path(names[0]).write_bytes(given.encode() if isinstance(given, str) else given)
        process = _FORKING.Process(target=_run, args=(arguments, self.environment, names))
        process.start()
        process.join(WAIT_S)
        if process.exitcode is None:
            process.kill()
            raise TimeoutError(f"{arguments} did not end")
        output, error = (Path(name).read_bytes().decode() for name in names[1:])
        return subprocess.CompletedProcess(arguments, process.exitcode, output, error)

    def start(self, *arguments: str) -> "subprocess.Popen[bytes]":
        """Begin a command whose standard input and output are pipes."""
        return subprocess.Popen(
            [*AGIO, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.environment
        )

    def runs(self, *options: str) -> list[dict[str, object]]:
        """Return what `agio runs list --json` says, newest first."""
        done = self.run("runs", "list", "--json", *options)
        assert done.returncode == 0, done.stderr
        return [cast("dict[str, object]", json.loads(line)) for line in done.stdout.splitlines()]

    def stored(self, file: Path | None = None) -> list[RunInfo]:
        """Return the runs that are stored, newest first, without a process of its own to ask."""
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, _runs(file or self.store)).result(WAIT_S)

    def wait_for_events(self, count: int) -> None:
        """Wait until the newest run has so many events in the store."""
        self._wait(lambda run: run.last_seq >= count)

    def wait_for_end(self) -> None:
        """Wait until the newest run has ended."""
        self._wait(lambda run: run.status != "running")

    def _wait(self, is_so: Callable[[RunInfo], bool]) -> None:
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            if self.store.exists() and any(is_so(run) for run in self.stored()[:1]):
                return
            time.sleep(0.02)
        raise TimeoutError("the newest run never came that far")

    def chat(self, *messages: str, options: Sequence[str] = ()) -> str:
        """Send messages through a pipe and return what came out."""
        done = self.run("chat", *options, given="".join(f"{message}\n" for message in messages))
        assert done.returncode == 0, done.stderr
        assert re.fullmatch(r"(Thread \S+ is new\.\n)?", done.stderr)
        return done.stdout


async def _runs(file: Path) -> list[RunInfo]:
    try:
        store = await open_store(file, read_only=True)
    except StoreError:  # it is being made
        return []
    try:
        return list(await store.list_runs())
    finally:
        await store.close()
