"""The processes of a benchmark of libraries: one worker a variant, fresh interpreters for imports."""

import contextlib
import functools
import json
import subprocess
from pathlib import Path

from environments import quiet_environment
from libraries.subjects import Library, Variant

IMPORT_PROBE = """
import resource
{statement}
usage = resource.getrusage(resource.RUSAGE_SELF)
print((usage.ru_utime + usage.ru_stime) * 1000)
"""


class WorkerFailed(Exception):
    """A worker could not do its work, or did other work than was asked: it gets no figures."""


class Worker:
    """A worker process: one variant of a library, waiting for measurements to make."""

    def __init__(self, variant: Variant, folder: Path) -> None:
        self._variant = variant
        self._folder = folder
        self._log = folder / "stderr"
        self._process: subprocess.Popen[str] | None = None

    def start(self, base_url: str) -> dict[str, str]:
        """Start it and wait until its library is ready; returns the versions. Raises WorkerFailed."""
        self._folder.mkdir()
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                self._variant.command(base_url, self._folder / "bench.db"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=self._folder,
                env=quiet_environment(self._folder),
            )
        return self._answer()["versions"]

    def measure(self, **command: object) -> dict[str, float]:
        """Make one measurement. Raises WorkerFailed."""
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(command) + "\n")
            self._process.stdin.flush()
        return self._answer()

    def finish(self) -> None:
        """Let the worker close its library and check what it left on disk. Raises WorkerFailed."""
        self._process.stdin.close()
        self._answer()

    def close(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()

    def _answer(self) -> dict[str, object]:
        line = self._process.stdout.readline()
        if not line:
            code = self._process.wait()
            tail = self._log.read_text().strip().splitlines()[-1:]
            raise WorkerFailed(f"ended with code {code}: {' '.join(tail)}")
        answer = json.loads(line)
        if "error" in answer:
            raise WorkerFailed(answer["error"])
        return answer


@functools.cache
def import_cpu_ms(library: Library, home: Path, times: int) -> float:
    """CPU of a fresh interpreter up to the end of the library's import, the best of some."""
    command = [library.python(), "-c", IMPORT_PROBE.format(statement=library.import_statement)]
    environment = quiet_environment(home)
    found: list[float] = []
    for _ in range(times):
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=home, env=environment, check=False, timeout=60
        )
        if done.returncode:
            raise WorkerFailed(done.stderr.strip().splitlines()[-1])
        found.append(float(done.stdout))
    return min(found)
