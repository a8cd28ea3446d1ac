"""The machine: Python, libraries, disk, clock, port, and agio's own files."""

import platform
import re
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from importlib import metadata
from importlib.resources import files
from pathlib import Path

from agio.cli.operate.checks.finding import Finding, ok, problem, warning

OLDEST_PYTHON = (3, 11)
OLDEST_SQLITE = (3, 45)
LITTLE_BYTES = 1024**3
TOO_LITTLE_BYTES = 64 * 1024**2
SKEW_S = 5.0
_BUILT_IN_2026 = 1_767_225_600
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)\s*>=\s*([0-9.]+)\s*(;.*)?")


def check_python() -> Finding:
    """Python's version."""
    words = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    if sys.version_info < OLDEST_PYTHON:
        return problem("python", words, f"Use Python {'.'.join(map(str, OLDEST_PYTHON))} or newer.")
    return ok("python", words)


def check_libraries() -> Finding:
    """The versions of the dependencies."""
    old = list(_too_old())
    import apsw

    sqlite = apsw.sqlite_lib_version()
    if _numbers(sqlite) < OLDEST_SQLITE:
        old.append(f"SQLite {sqlite} is older than {'.'.join(map(str, OLDEST_SQLITE))}")
    if old:
        return problem("libraries", "; ".join(old), "Install agio again: pip install --upgrade agio.")
    return ok("libraries", f"all recent enough, SQLite {sqlite}")


def _too_old() -> Iterator[str]:
    for line in metadata.requires("agio") or ():
        match = _REQUIREMENT.fullmatch(line)
        if match is None or (match[3] is not None and sys.platform == "win32"):
            continue
        name, oldest = match[1], match[2]
        try:
            found = metadata.version(name)
        except metadata.PackageNotFoundError:
            yield f"{name} is missing"
            continue
        if _numbers(found) < _numbers(oldest):
            yield f"{name} {found} is older than {oldest}"


def check_disk(folder: Path) -> Finding:
    """The free disk space."""
    there = next(each for each in (folder, *folder.parents) if each.exists())
    free = shutil.disk_usage(there).free
    words = f"{free / 1024**3:,.1f} GiB free at {there}"
    if free < TOO_LITTLE_BYTES:
        return problem("disk", words, "Free some space: a full disk stops every run.")
    if free < LITTLE_BYTES:
        return warning("disk", words, "Free some space before it is full.")
    return ok("disk", words)


def check_clock(newest_run_at: int, skew_ms: int) -> Finding:
    """The clock, compared with agio's release, the newest run and the database's clock."""
    now = time.time()
    if now < _BUILT_IN_2026:
        return problem(
            "clock", f"it says {time.strftime('%Y-%m-%d %H:%M', time.gmtime(now))} UTC", "Set the clock."
        )
    ahead_s = newest_run_at / 1000 - now
    if ahead_s > SKEW_S:
        return warning(
            "clock",
            f"the newest run began {ahead_s:,.0f} s from now",
            "Set the clock: it runs behind or was set back.",
        )
    if abs(skew_ms) > SKEW_S * 1000:
        return warning(
            "clock",
            f"the database's clock is {skew_ms / 1000:+,.0f} s from ours",
            "Synchronise both clocks (NTP): leases use the database's clock.",
        )
    return ok("clock", time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now)))


def check_port(port: int, *, served: bool) -> Finding:
    """Whether the port is available."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(("127.0.0.1", port))
        except OSError as error:
            if served:
                return ok("port", f"{port} is in use, and a server is running")
            words = f"{port} is not available: {error.strerror}"
            return warning("port", words, "Stop the program that listens there, or start with --port.")
    return ok("port", f"{port} is free")


def check_pages() -> Finding:
    """Whether the web app is built."""
    folder = files("agio.gateway.pages") / "dist"
    if not (folder / "index.html").is_file():
        return problem("pages", "not built", "Run `make pages`, or install agio again.")
    return ok("pages", f"{sum(1 for _ in (folder / 'assets').iterdir()) + 1} files")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0])[:3])
