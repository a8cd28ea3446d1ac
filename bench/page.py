"""Results on disk: a file of bench/out each, the newest complete ones inside docs/benchmarks.md."""

import json
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
OUT = HERE / "out"
PAGE = HERE.parent / "docs" / "benchmarks.md"

Results = dict[str, object]


def save(kind: str, results: Results) -> Path:
    """Write results to bench/out."""
    OUT.mkdir(exist_ok=True)
    moment = str(results["date"]).replace(":", "")
    path = OUT / f"{moment}-{results['commit']}-{kind}.json"
    path.write_text(json.dumps(results, indent=1) + "\n")
    return path


def write_page(
    kind: str, render: Callable[[Results], str], is_complete: Callable[[Results], bool]
) -> Path | None:
    """Put the newest complete results of a kind between its markers in the page; None if there are none."""
    for path in sorted(OUT.glob(f"*-{kind}.json"), reverse=True):
        results = json.loads(path.read_text())
        if is_complete(results):
            break
    else:
        return None
    opening = f"<!-- {kind}: written by bench/run.py --write-docs -->"
    closing = f"<!-- end of {kind} -->"
    before, begin, rest = PAGE.read_text().partition(opening)
    _, end, after = rest.partition(closing)
    if not begin or not end:
        raise SystemExit(f"{PAGE} has lost its markers: {opening} and {closing}")
    PAGE.write_text(f"{before}{opening}\n\n{render(results)}\n\n{closing}{after}")
    return path
