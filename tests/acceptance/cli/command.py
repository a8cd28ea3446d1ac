"""Runs the real command line in processes of its own, far from anybody's home."""

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from agio.db.repository import open_store
from agio.errors import StoreError

WAIT_S = 60.0
"""No command may take longer, however busy the machine is."""

AGIO = (sys.executable, "-m", "agio.cli.main")


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
        """Run a command to its end; `given` is its standard input."""
        done = subprocess.run(
            [*AGIO, *arguments],
            input=given.encode() if isinstance(given, str) else given,
            capture_output=True,
            env=self.environment,
            timeout=WAIT_S,
            check=False,
        )
        return subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
        )

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

    def wait_for_events(self, count: int) -> None:
        """Wait until the newest run has so many events in the store."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            if self.store.exists() and asyncio.run(_newest_seq(self.store)) >= count:
                return
            time.sleep(0.02)
        raise TimeoutError(f"no run had {count} events")

    def chat(self, *messages: str, options: Sequence[str] = ()) -> str:
        """Send messages through a pipe and return what came out."""
        done = self.run("chat", *options, given="".join(f"{message}\n" for message in messages))
        assert done.returncode == 0, done.stderr
        assert re.fullmatch(r"(Thread \S+ is new\.\n)?", done.stderr)
        return done.stdout


async def _newest_seq(file: Path) -> int:
    """Look here rather than in a process of its own, which takes longer than a short run."""
    try:
        store = await open_store(file, read_only=True)
    except StoreError:  # it is being made
        return 0
    try:
        newest = await store.list_runs(limit=1)
        return newest[0].last_seq if newest else 0
    finally:
        await store.close()
