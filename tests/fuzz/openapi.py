"""Requests made up from the description of the API, by schemathesis: `python -m tests.fuzz.openapi 20000`.

Every check it has is on, and those of checks.py. It runs in a process of its own, against a server in another.
"""

import os
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz import checks
from tests.fuzz.server import Target, target
from tests.support.process import KEY

ROOT = Path(__file__).resolve().parents[2]
ROUND_S = 3000.0
CONFIG = f"""
max-stream-events = 3
request-timeout = 60
continue-on-failure = true
hooks = "tests.fuzz.checks"

[auth.openapi]
apiKey = {{ bearer = "{KEY}" }}

# A stream lasts as long as its reader stays.
[[operations]]
include-operation-id = "stream_session"
request-timeout = 0.5

# What fits its schema may still be refused for what it means; checks.py says for what not.
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "3xx", "400", "401", "403", "404", "409", "410", "413", "422", "426", "429"]

# Documented: a sign-in provider that cannot be reached, a run that takes too long, a store that cannot.
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", "502", "503", "504"]
"""


@dataclass(frozen=True)
class Round:
    """How much of which kind is made up."""

    seed: int
    phases: str
    examples: int
    """Of every operation, and of sequences of operations."""
    only: tuple[str, ...] = ()
    """What limits the operations."""


@dataclass
class Findings:
    """What came of it."""

    requests: Counter[int]
    failed: list[str]
    memory_kib: list[int]


def throw(server: Target, folder: Path, given: Round) -> str:
    """Let schemathesis make one round of requests; return what it found, nothing if all is well."""
    (folder / "schemathesis.toml").write_text(CONFIG)
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "--config-file", "schemathesis.toml", "--no-color"),
            *("run", f"{server.url.rstrip('/')}/api/openapi.json", "--phases", given.phases),
            *("--seed", str(given.seed), "--max-examples", str(given.examples), "--no-shrink"),
            *("--generation-database", "none", "--suppress-health-check", "all", "--warnings", "off"),
            *("--workers", "1", "--output-truncate", "false", *given.only),
        ],
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(ROOT),
            checks.OWN_KEY_ID: server.key_id,
        },
        capture_output=True,
        text=True,
        timeout=ROUND_S,
        check=False,
    )
    return "" if ran.returncode == 0 else ran.stdout + ran.stderr


def throw_many(count: int) -> Findings:
    """Make at least so many requests, round by round, each with another seed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with target(folder) as server:
            found = Findings(server.requests(), [], [server.memory_kib])
            seed = 0
            while found.requests.total() < count:
                seed += 1
                given = Round(seed, "coverage,fuzzing,stateful", 50)
                if failure := throw(server, folder, given):
                    found.failed.append(failure)
                    print(failure, flush=True)
                found.requests = server.requests()
                found.memory_kib.append(server.memory_kib)
                print(f"seed {seed}: {found.requests.total()} requests so far", flush=True)
        return found


def main() -> int:
    """Make requests, and say how they were answered."""
    found = throw_many(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
    for status, count in sorted(found.requests.items()):
        print(f"{status}  {count:>7}")
    print(f"all  {found.requests.total():>7}; the server's memory in KiB: {found.memory_kib}")
    return 1 if found.failed else 0


if __name__ == "__main__":
    sys.exit(main())
