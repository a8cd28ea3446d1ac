"""`agio serve --reload`: begins the server again whenever a Python file changes. For developing, not for serving."""

import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import FrameType

import agio
from agio.errors import UserError

_SOON_S = 3.0
"""How long a replaced server may take to end; the next one continues its runs."""


def serve_and_reload(app: str | None) -> int:
    """Run this same command without `--reload`, again and again; return the exit code. Raises UserError."""
    try:
        from watchfiles import PythonFilter, watch
    except ImportError as error:
        raise UserError(
            "missing_package", "--reload needs the package watchfiles: pip install watchfiles"
        ) from error
    signal.signal(signal.SIGTERM, _interrupt)
    process = _start()
    try:
        for _ in watch(*_watched(app), watch_filter=PythonFilter()):
            _stop(process)
            print("A file has changed: agio begins again.", flush=True)
            process = _start()
    except KeyboardInterrupt:
        pass
    finally:
        _stop(process)
    return 0


def _start() -> "subprocess.Popen[bytes]":
    arguments = [argument for argument in sys.argv[1:] if argument != "--reload"]
    command = [sys.executable, "-m", "agio.cli.main", *arguments, "--until-stdin-ends"]
    return subprocess.Popen(command, stdin=subprocess.PIPE)  # noqa: S603 - it is our own command line


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(_SOON_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdin is not None:
        process.stdin.close()


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _watched(app: str | None) -> list[Path]:
    """Agio itself, and the folder of the module: a package's own, or the one its file is in."""
    folders = [Path(agio.__file__).parent]
    if app is None:
        return folders
    name = app.partition(":")[0]
    if name.endswith(".py"):
        return [*folders, Path(name).resolve().parent]
    sys.path.insert(0, str(Path.cwd()))
    found = find_spec(name.partition(".")[0])
    if found is not None and found.origin is not None:
        folders.append(Path(found.origin).resolve().parent)
    return folders
