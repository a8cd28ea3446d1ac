"""Measure agio and others doing the same work: `make bench`, `make bench ARGS=--quick`.

First the server beside other servers, then the library beside other libraries.
docs/benchmarks.md says what the figures mean. Results go to bench/out.
"""

import argparse
import json
import signal
import sys
from dataclasses import replace

import browser
import edge
import libraries.benchmark
import libraries.report
import libraries.subjects
import memory.benchmark
import servers.benchmark
import servers.report
import servers.subjects
from origin import ROOT, find_origin, warn_if_busy
from page import OUT, Results, save, write_page

try:
    from uvloop import run
except ImportError:
    from asyncio import run


def main() -> None:
    args = parse()
    if args.write_docs:
        write_docs()
        return
    # Asked to stop, it takes the servers it has started with it, as after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    failed = False
    if args.what in ("memory", "all"):
        bench_memory(args)
    if args.what in ("documents", "all"):
        bench_documents(args)
    if args.what in ("edge", "all"):
        bench_edge(args)
    if args.what in ("browser", "all"):
        bench_browser(args)
    if args.what in ("servers", "all"):
        failed |= bench_servers(args)
    if args.what in ("libraries", "all"):
        failed |= bench_libraries(args)
    sys.exit(failed)


def bench_memory(args: argparse.Namespace) -> None:
    """Measure how well memories are found, and what that takes."""
    sizes = [1_000] if args.quick else [1_000, 100_000, 1_000_000]
    results = run(memory.benchmark.measure(sizes, vectors=not args.quick))
    print(memory.benchmark.show(results), flush=True)
    OUT.mkdir(exist_ok=True)
    (OUT / "memory.json").write_text(json.dumps(results, indent=1))


def bench_documents(args: argparse.Namespace) -> None:
    """Measure how fast documents are read, and how well they are found."""
    sys.path.append(str(ROOT))  # the makers of documents are those of the tests
    import documents.benchmark

    results = documents.benchmark.main(quick=args.quick)
    OUT.mkdir(exist_ok=True)
    (OUT / "documents.json").write_text(json.dumps(results, indent=1))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "what",
        nargs="?",
        choices=["servers", "libraries", "edge", "browser", "memory", "documents", "all"],
        default="all",
    )
    parser.add_argument("--quick", action="store_true", help="short phases: does it run, not what it costs")
    parser.add_argument("--passes", type=int, help="how often everything is measured; the medians count")
    parser.add_argument("--only", help="some of agio, openai-agents, pydantic-ai, agno, langgraph, floor")
    parser.add_argument("--name", default="", help="of the servers, those whose name begins so")
    parser.add_argument("--wire", choices=["chat", "responses"], help="of the libraries, one format for all")
    parser.add_argument("--before", default=edge.BEFORE, help="of the edge, the commit to compare with")
    parser.add_argument(
        "--write-docs",
        action="store_true",
        help="measure nothing: put the newest complete results into docs/benchmarks.md",
    )
    args = parser.parse_args()
    args.only = args.only.split(",") if args.only else None
    known = {server.project for server in servers.subjects.servers(0)}
    if unknown := set(args.only or ()) - known:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}")
    return args


def bench_servers(args: argparse.Namespace) -> bool:
    plan = servers.benchmark.QUICK if args.quick else servers.benchmark.FULL
    plan = replace(plan, passes=args.passes or plan.passes)
    chosen = [
        server
        for server in servers.subjects.servers(plan.filled_runs)
        if (not args.only or server.project in args.only) and server.name.startswith(args.name)
    ]
    results = begin(args, plan.passes)
    candidates = run(servers.benchmark.bench(chosen, plan, OUT))
    results |= {
        "filled_runs": plan.filled_runs,
        "most_at_once": plan.most_at_once,
        "versions": {one.server.project: one.versions for one in candidates if one.versions},
        "servers": [servers.benchmark.result(one) for one in candidates],
    }
    finish("servers", results, servers.report.render(results))
    return any(one.failure for one in candidates)


def bench_edge(args: argparse.Namespace) -> None:
    turns = args.passes or (2 if args.quick else 40)
    results = begin(args, turns)
    try:
        measured = run(edge.bench(turns, args.before))
    except edge.NoHistory as error:
        print(f"What was added was not measured: {error}", flush=True)
        return
    finish("edge", results | measured, edge.render(measured))


def bench_browser(args: argparse.Namespace) -> None:
    results = begin(args, 1)
    try:
        measured = run(browser.bench(200 if args.quick else browser.MESSAGES))
    except browser.NoBrowser as error:
        print(f"The pages were not measured, there is no Chromium: {error}", flush=True)
        return
    finish("browser", results | measured, browser.render(measured))


def bench_libraries(args: argparse.Namespace) -> bool:
    plan = libraries.benchmark.QUICK if args.quick else libraries.benchmark.FULL
    plan = replace(plan, passes=args.passes or plan.passes)
    names = [library.name for library in libraries.subjects.LIBRARIES]
    chosen = [name for name in names if not args.only or name in args.only]
    results = begin(args, plan.passes)
    candidates = libraries.benchmark.bench(libraries.subjects.choose_variants(chosen, args.wire), plan, OUT)
    results |= {
        "wire": args.wire,
        "versions": {one.variant.library.name: one.versions for one in candidates if one.versions},
        "variants": [libraries.benchmark.result(one) for one in candidates],
    }
    finish("libraries", results, libraries.report.render(results))
    return any(one.failure for one in candidates)


def begin(args: argparse.Namespace, passes: int) -> Results:
    OUT.mkdir(exist_ok=True)
    origin = find_origin()
    warn_if_busy(origin)
    return origin | {"quick": args.quick, "passes": passes}


def finish(kind: str, results: Results, text: str) -> None:
    path = save(kind, results)
    print(f"{text}\n\nWritten to {path.relative_to(ROOT)}\n", flush=True)


def write_docs() -> None:
    for kind, of in (("servers", servers.report), ("libraries", libraries.report)):
        path = write_page(kind, of.render, of.is_complete)
        said = f"has the results of {path.relative_to(ROOT)}" if path else "is as it was: none are complete"
        print(f"docs/benchmarks.md, {kind}: {said}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("Stopped: nothing was written.")
