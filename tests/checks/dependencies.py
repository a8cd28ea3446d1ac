"""Known holes in what agio depends on: `python -m tests.checks.dependencies`.

pip-audit asks the package index; where that has no such data, nothing was checked, and this says so.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 120


def report(answer: str) -> tuple[int, str]:
    """Return the exit code and the words for what pip-audit answered, as JSON."""
    try:
        packages: list[dict[str, Any]] = json.loads(answer)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return 0, "pip-audit: not run, its data cannot be reached from here"
    checked = [package for package in packages if "skip_reason" not in package]
    if not checked:
        return 0, "pip-audit: not run, its data cannot be reached from here"
    holes = [
        f"{package['name']} {package['version']}: {hole['id']}"
        for package in checked
        for hole in package["vulns"]
    ]
    words = f"pip-audit: {len(checked)} of {len(packages)} packages checked, {len(holes)} known holes"
    return (1 if holes else 0), "\n".join([*holes, words])


def main() -> int:
    """Ask pip-audit about everything that is installed to run agio."""
    command = [sys.executable, "-m", "pip_audit", "-r", "requirements/run.txt", "--require-hashes"]
    command += ["--disable-pip", "--progress-spinner", "off", "--format", "json"]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
        answer = done.stdout
    except subprocess.TimeoutExpired:
        answer = ""
    code, words = report(answer)
    print(words)
    return code


if __name__ == "__main__":
    sys.exit(main())
