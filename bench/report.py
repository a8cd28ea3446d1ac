"""The results as two Markdown tables, as a file of bench/out, and inside docs/benchmarks.md."""

import json
from pathlib import Path

from figures import FIGURES, Figure
from subjects import LIBRARIES, OURS

HERE = Path(__file__).parent
OUT = HERE / "out"
PAGE = HERE.parent / "docs" / "benchmarks.md"
BEGIN = "<!-- results: written by bench/run.py --write-docs -->"
END = "<!-- end of results -->"

Results = dict[str, object]
Row = dict[str, object]


def render(results: Results) -> str:
    """The whole report: where it was measured, agio beside the best peer, every variant, what failed."""
    rows = [row for row in results["variants"] if not row["failure"]]
    parts = [_origin(results), _comparison(rows), _everything(rows)]
    failed = [f"- {row['name']}: {row['failure']}" for row in results["variants"] if row["failure"]]
    if failed:
        parts.append("\n".join(["Not reported, because the run could not be verified:", "", *failed]))
    return "\n\n".join(part for part in parts if part)


def save(results: Results) -> Path:
    """Write the results to bench/out."""
    OUT.mkdir(exist_ok=True)
    moment = str(results["date"]).replace(":", "")
    path = OUT / f"{moment}-{results['commit']}.json"
    path.write_text(json.dumps(results, indent=1) + "\n")
    return path


def write_page() -> Path:
    """Put the newest complete results of bench/out into the page. Raises SystemExit if there are none."""
    for path in sorted(OUT.glob("*.json"), reverse=True):
        results = json.loads(path.read_text())
        if _is_complete(results):
            break
    else:
        raise SystemExit("bench/out has no complete results: run `make bench` first.")
    page = PAGE.read_text()
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{PAGE} has lost its markers: {BEGIN} and {END}")
    PAGE.write_text(f"{before}{BEGIN}\n\n{render(results)}\n\n{END}{after}")
    return path


def _is_complete(results: Results) -> bool:
    measured = {row["library"] for row in results["variants"] if not row["failure"]}
    whole = not results["quick"] and results["wire"] is None
    return whole and measured == {library.name for library in LIBRARIES}


def _origin(results: Results) -> str:
    machine = results["machine"]
    versions = results["versions"]
    lines = [
        f"Measured {results['date']} at commit {results['commit']} on {machine['cpu']}, {machine['cores']} "
        f"cores, {machine['system']}, Python {machine['python']}; load average {results['load']:.2f} at the "
        f"start; passes: {results['passes']}"
        + (", shortened (`--quick`): not for comparison." if results["quick"] else ".")
    ]
    for library, found in versions.items():
        others = ", ".join(f"{name} {number}" for name, number in found.items() if name != "python")
        lines.append(f"- {library}: {others}")
    return "\n".join([lines[0], "", *lines[1:]])


def _comparison(rows: list[Row]) -> str:
    """Agio (the first of its rows) beside the cheapest variant of any peer, line by line."""
    ours = next((row for row in rows if row["library"] == OURS), None)
    peers = [row for row in rows if row["library"] != OURS]
    if not ours or not peers:
        return ""
    lines = []
    for figure in FIGURES:
        best = min(peers, key=lambda row: row["figures"][figure.key])
        mine, theirs = ours["figures"][figure.key], best["figures"][figure.key]
        ratio = f"{theirs / mine:.1f}" if mine > 0 else "-"
        cells = [_number(figure, ours), _number(figure, best), best["name"], ratio]
        lines.append([figure.label, *cells])
    return _table(["", ours["name"], "best peer", "which", "peer / agio"], lines)


def _everything(rows: list[Row]) -> str:
    lines = [[row["name"], *(_number(figure, row) for figure in FIGURES)] for row in rows]
    return _table(["", *(figure.short for figure in FIGURES)], lines) if rows else ""


def _number(figure: Figure, row: Row) -> str:
    return f"{row['figures'][figure.key]:.{figure.decimals}f}"


def _table(header: list[str], lines: list[list[str]]) -> str:
    widths = [max(len(line[index]) for line in [header, *lines]) for index in range(len(header))]

    def text(cells: list[str]) -> str:
        padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
        return f"| {' | '.join(padded)} |"

    rule = f"| {' | '.join('-' * width for width in widths)} |"
    return "\n".join([text(header), rule, *map(text, lines)])
