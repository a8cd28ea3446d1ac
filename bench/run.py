"""Measure the same agent run on agio and on three other libraries: `make bench`, `make bench ARGS=--quick`.

docs/benchmarks.md says what the figures mean. Results go to bench/out.
"""

import argparse
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import report
from benchmark import FULL, QUICK, Candidate, bench, say
from subjects import LIBRARIES, choose_variants

ROOT = Path(__file__).parent.parent
BUSY = 0.5


def main() -> None:
    names = [library.name for library in LIBRARIES]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="short phases: does it run, not what it costs")
    parser.add_argument("--only", default=",".join(names), help=f"some of {','.join(names)}")
    parser.add_argument("--wire", choices=["chat", "responses"], help="one wire format for everyone")
    parser.add_argument(
        "--write-docs",
        action="store_true",
        help="measure nothing: put the newest complete results into docs/benchmarks.md",
    )
    args = parser.parse_args()
    if args.write_docs:
        print(f"docs/benchmarks.md now has the results of {report.write_page().relative_to(ROOT)}")
        return
    only = args.only.split(",")
    if unknown := set(only) - set(names):
        parser.error(f"unknown library {', '.join(sorted(unknown))}; there are {', '.join(names)}")

    load = os.getloadavg()[0]
    if load > BUSY:
        say(f"The machine is busy (load average {load:.2f}): do not trust these figures.")
    plan = QUICK if args.quick else FULL
    report.OUT.mkdir(exist_ok=True)
    candidates = bench(choose_variants(only, args.wire), plan, report.OUT)
    results = {
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "commit": commit(),
        "machine": machine(),
        "load": load,
        "quick": args.quick,
        "wire": args.wire,
        "passes": plan.passes,
        "versions": {one.variant.library.name: one.versions for one in candidates if one.versions},
        "variants": [result(one) for one in candidates],
    }
    path = report.save(results)
    print(f"{report.render(results)}\n\nWritten to {path.relative_to(ROOT)}")
    sys.exit(any(one.failure for one in candidates))


def result(one: Candidate) -> report.Row:
    variant = one.variant
    return {
        "name": variant.name,
        "library": variant.library.name,
        "wire": variant.wire,
        "store": variant.store,
        "loop": variant.loop,
        "failure": one.failure,
        "figures": one.figures(),
        "passes": one.passes,
    }


def machine() -> dict[str, object]:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return {
        "cpu": models[0] if models else platform.processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


if __name__ == "__main__":
    main()
