"""The results of the libraries as two Markdown tables."""

from libraries.figures import FIGURES, Figure
from libraries.subjects import LIBRARIES, OURS
from origin import describe_origin
from tables import table

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


def is_complete(results: Results) -> bool:
    """Whether every library was measured, in full."""
    measured = {row["library"] for row in results["variants"] if not row["failure"]}
    whole = not results["quick"] and results["wire"] is None
    return whole and measured == {library.name for library in LIBRARIES}


def _origin(results: Results) -> str:
    lines = [describe_origin(results), ""]
    for library, found in results["versions"].items():
        others = ", ".join(f"{name} {number}" for name, number in found.items() if name != "python")
        lines.append(f"- {library}: {others}")
    return "\n".join(lines)


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
    return table(["", ours["name"], "best peer", "which", "peer / agio"], lines)


def _everything(rows: list[Row]) -> str:
    lines = [[row["name"], *(_number(figure, row) for figure in FIGURES)] for row in rows]
    return table(["", *(figure.short for figure in FIGURES)], lines) if rows else ""


def _number(figure: Figure, row: Row) -> str:
    return f"{row['figures'][figure.key]:.{figure.decimals}f}"
