"""Where and when something was measured: every result carries it."""

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent
BUSY = 0.5

Origin = dict[str, object]


def find_origin() -> Origin:
    """Taken before measuring, so that the load average is not our own."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "commit": _commit(),
        "machine": _machine(),
        "load": os.getloadavg()[0],
    }


def warn_if_busy(origin: Origin) -> None:
    if origin["load"] > BUSY:
        say(f"The machine is busy (load average {origin['load']:.2f}): do not trust these figures.")


def describe_origin(origin: Origin) -> str:
    machine = origin["machine"]
    return (
        f"Measured {origin['date']} at commit {origin['commit']} on {machine['cpu']}, {machine['cores']} cores, "
        f"{machine['system']}, Python {machine['python']}; load average {origin['load']:.2f} at the start; "
        f"passes: {origin['passes']}"
        + (", shortened (`--quick`): not for comparison." if origin["quick"] else ".")
    )


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _machine() -> dict[str, object]:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return {
        "cpu": models[0] if models else platform.processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
