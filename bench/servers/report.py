"""The results of the servers as Markdown tables: agio beside its targets, the best peer and the floor."""

from statistics import median

from origin import describe_origin
from servers.figures import FIGURES, Figure
from servers.subjects import FLOOR, OURS, servers
from tables import table

Results = dict[str, object]
Row = dict[str, object]


def render(results: Results) -> str:
    """The whole report: where it was measured, the comparison, agio's own variants, every server, what failed."""
    rows = [row for row in results["servers"] if not row["failure"]]
    parts = [_origin(results), _comparison(rows), _our_variants(rows), _everything(rows)]
    failed = [f"- {row['name']}: {row['failure']}" for row in results["servers"] if row["failure"]]
    if failed:
        parts.append("\n".join(["Not reported, because the runs could not be verified:", "", *failed]))
    return "\n\n".join(part for part in parts if part)


def is_complete(results: Results) -> bool:
    """Whether every server was measured, in full."""
    measured = {row["name"] for row in results["servers"] if not row["failure"]}
    return not results["quick"] and measured == {server.name for server in servers(results["filled_runs"])}


def _origin(results: Results) -> str:
    alone_ms = [each for row in results["servers"] for each in row["model_alone_ms"]]
    lines = [describe_origin(results)]
    if results["quick"]:
        lines.append(f"No more than {results['most_at_once']} clients at once, whatever a line says.")
    if alone_ms:
        lines.append(f"The model itself: first text after {median(alone_ms):.2f} ms.")
    lines.append("")
    for project, found in results["versions"].items():
        lines.append(f"- {project}: {', '.join(f'{name} {number}' for name, number in found.items())}")
    return "\n".join(lines)


def _comparison(rows: list[Row]) -> str:
    """Agio (the first of its rows) beside the best of any peer, line by line."""
    ours = next((row for row in rows if row["project"] == OURS), None)
    floor = next((row for row in rows if row["project"] == FLOOR), None)
    peers = [row for row in rows if row["project"] not in (OURS, FLOOR)]
    if not peers:
        return ""
    lines: list[list[str]] = []
    for figure in FIGURES:
        best = _best(figure, peers)
        ratio = _ratio(figure, ours, best) if ours and best else "-"
        target = f"{figure.target:g}" if figure.target else ""
        cells = [_number(figure, ours), target, _number(figure, best), best["name"] if best else "-", ratio]
        lines.append([figure.label, *cells, _number(figure, floor)])
    return table(["", "agio serve", "target", "best peer", "which", "times better", "floor"], lines)


def _our_variants(rows: list[Row]) -> str:
    """What more worker processes bring, and what a store full of runs costs: each beside plain `agio serve`."""
    ours = [row for row in rows if row["project"] == OURS]
    if len(ours) < 2:
        return ""
    keys = ("run_1", "run_200", "first_piece_ms", "runs_per_s")
    figures = [figure for figure in FIGURES if figure.key in keys]
    lines = [
        [row["name"], *(f"{_number(f, row)} ({_share(f, row, ours[0])})" for f in figures)] for row in ours
    ]
    return table(["", *(figure.label for figure in figures)], lines)


def _everything(rows: list[Row]) -> str:
    lines = [[row["name"], *(_number(figure, row) for figure in FIGURES)] for row in rows]
    return table(["", *(figure.short for figure in FIGURES)], lines) if rows else ""


def _best(figure: Figure, peers: list[Row]) -> Row | None:
    able = [row for row in peers if figure.key in row["figures"] and (row["keeps"] or not figure.of_disk)]
    choose = max if figure.more_is_better else min
    return choose(able, key=lambda row: row["figures"][figure.key], default=None)


def _ratio(figure: Figure, ours: Row, best: Row) -> str:
    mine, theirs = ours["figures"].get(figure.key, 0), best["figures"][figure.key]
    over, under = (mine, theirs) if figure.more_is_better else (theirs, mine)
    return f"{over / under:.1f}" if under > 0 else "-"


def _share(figure: Figure, row: Row, plain: Row) -> str:
    mine, other = row["figures"].get(figure.key), plain["figures"].get(figure.key)
    return f"{mine / other:.2f}" if mine and other else "-"


def _number(figure: Figure, row: Row | None) -> str:
    value = row["figures"].get(figure.key) if row else None
    return "-" if value is None else f"{value:.{figure.decimals}f}"
