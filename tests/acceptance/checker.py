"""What must be true after any crash, read from the store, the clients' transcripts and the tools' ledger alone.

It imports nothing of agio's: what it checks, it does not use.
"""

import json
import sqlite3
import zlib
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

TERMINAL = {"RUN_FINISHED", "RUN_ERROR"}
FIRST_AGENT = "crash"
ENDED = {"completed", "failed", "cancelled", "interrupted", "expired"}


@dataclass
class Transcript:
    """What one client saw: the runs its messages became, and the events of its session's stream."""

    session_id: str = ""
    accepted: dict[str, str] = field(default_factory=dict[str, str])
    """By the message's own word: the run the server said it became."""
    events: list[tuple[int, bytes]] = field(default_factory=list[tuple[int, bytes]])
    """Position and line, in the order they came; a rejoin goes on after the last."""


@dataclass(frozen=True)
class Act:
    """A line of the tools' ledger: a call began or finished acting, at a time in ms."""

    what: str
    tool: str
    key: str
    at: int


@dataclass(frozen=True)
class Run:
    run_id: str
    session_id: str
    status: str
    first_pos: int
    last_seq: int
    active_agent: str
    lines: list[bytes]

    @property
    def events(self) -> list[dict[str, object]]:
        return [cast("dict[str, object]", json.loads(line)) for line in self.lines]


def check(store: Path, transcripts: list[Transcript], ledger: Path) -> list[str]:
    """Return everything that is wrong; nothing if all promises were kept."""
    runs = read_runs(store)
    acts = read_ledger(ledger)
    by_session: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        by_session[run.session_id].append(run)
    problems: list[str] = []
    for run in runs:
        problems += check_run(run)
    for session_id, of_session in by_session.items():
        problems += check_positions(session_id, of_session)
        problems += check_handoffs(session_id, of_session)
    problems += check_acts(acts, runs)
    for transcript in transcripts:
        problems += check_transcript(transcript, by_session[transcript.session_id])
    return problems


def read_runs(store: Path) -> list[Run]:
    """Every run of the store, which nobody has open, with its log."""
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as connection:
        logs: dict[str, list[bytes]] = defaultdict(list)
        for run_id, payload, codec in connection.execute(
            "select run_id, payload, codec from logs order by run_id, first_seq"
        ):
            lines = zlib.decompress(payload) if codec == "zlib" else bytes(payload)
            logs[run_id] += lines.splitlines(keepends=True)
        rows = connection.execute(
            "select run_id, session_id, status, coalesce(first_pos, -1), last_seq, active_agent from runs"
            " order by number"
        )
        return [Run(*row, lines=logs[row[0]]) for row in rows]


def open_jobs(store: Path) -> int:
    """How many of the jobs whose effect is counted have not ended, also while the server runs."""
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as connection:
        asked = "select count(*) from jobs where kind = 'tally' and state in ('queued', 'running')"
        return int(connection.execute(asked).fetchone()[0])


def check_jobs(store: Path, keys: list[str]) -> list[str]:
    """Every job that was added is done, and what it does happened exactly once, under a lease of its own."""
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as connection:
        states = dict(connection.execute("select key, state from jobs where kind = 'tally'").fetchall())
        acts = "select object, cast(details as integer) from audit_log where action = 'tally' order by number"
        rows = connection.execute(acts).fetchall()
    done, epochs = Counter(key for key, _ in rows), [epoch for _, epoch in rows]
    problems = [f"{key} is {states.get(key)}" for key in keys if states.get(key) != "done"]
    if epochs != sorted(set(epochs)):
        problems.append(f"two held the lease at once: {epochs}")
    return problems + [f"the job {key} happened {done[key]} times" for key in keys if done[key] != 1]


def read_ledger(ledger: Path) -> list[Act]:
    """What the tools wrote down while they acted. Half a line is one that was not finished."""
    if not ledger.exists():
        return []
    lines = ledger.read_text().splitlines()
    parts = [line.split(" ") for line in lines]
    return [Act(p[0], p[1], p[2], int(p[3])) for p in parts if len(p) == 4]


def check_run(run: Run) -> list[str]:
    """A run ends once, its events are numbered without a gap, and each says its own number."""
    if run.status not in ENDED:
        return [f"{run.run_id} has not ended: {run.status}"]
    problems: list[str] = []
    events = run.events
    if len(events) != run.last_seq:
        problems.append(f"{run.run_id} has {len(events)} events, its row says {run.last_seq}")
    for number, event in enumerate(events, 1):
        metadata = cast("dict[str, object]", event.get("metadata", {}))
        if metadata.get("seq") != number or metadata.get("run") != run.run_id:
            problems.append(f"{run.run_id}: event {number} says it is {metadata}")
            break
    ends = [number for number, event in enumerate(events, 1) if event["type"] in TERMINAL]
    if ends != [len(events)]:
        problems.append(f"{run.run_id} ends at {ends} of {len(events)}")
    if not events or events[0]["type"] != "RUN_STARTED":
        problems.append(f"{run.run_id} does not begin with RUN_STARTED")
    if [event["type"] for event in events].count("RUN_STARTED") > 1:
        problems.append(f"{run.run_id} begins twice")
    results = Counter(event["toolCallId"] for event in events if event["type"] == "TOOL_CALL_RESULT")
    problems += [f"{run.run_id}: call {call} has {n} results" for call, n in results.items() if n > 1]
    return problems


def check_positions(session_id: str, runs: list[Run]) -> list[str]:
    """A session's runs follow each other without a gap, and never interleave."""
    end = 0
    problems: list[str] = []
    for run in sorted(runs, key=lambda run: run.first_pos):
        if run.first_pos != end:
            problems.append(
                f"{session_id}: {run.run_id} begins after {run.first_pos}, the log ended at {end}"
            )
        end = run.first_pos + run.last_seq
    return problems


def check_handoffs(session_id: str, runs: list[Run]) -> list[str]:
    """The conversation passes from the agent that has it, by a call once; who has it is known after every run."""
    active, problems = FIRST_AGENT, list[str]()
    for run in sorted(runs, key=lambda run: run.first_pos):
        calls: Counter[object] = Counter()
        agents: Counter[object] = Counter()
        for event in run.events:
            value = cast("dict[str, str]", event.get("value", {}))
            if event["type"] == "RUN_STARTED":
                begun = cast("dict[str, str]", event["metadata"]).get("agent", FIRST_AGENT)
                if begun != active:
                    problems.append(f"{session_id}: {run.run_id} begins with {begun}, not with {active}")
            elif event.get("name") == "agio.handoff":
                if value["from"] != active:
                    problems.append(f"{run.run_id}: {value['from']} hands over what {active} has")
                active = value["to"]
                calls[value["call"]] += 1
            elif event["type"] in ("SUBAGENT_STARTED", "SUBAGENT_FINISHED"):
                agents[event["type"], event["subagentRunId"]] += 1
        problems += [f"{run.run_id}: {call} hands over {n} times" for call, n in calls.items() if n > 1]
        problems += [f"{run.run_id}: {what} {n} times" for what, n in agents.items() if n > 1]
        handed = active if active != FIRST_AGENT else ""
        if run.active_agent != handed:
            problems.append(f"{run.run_id}: its row says {run.active_agent!r} has it, not {handed!r}")
        if run.status == "completed" and (not calls or not agents):
            problems.append(f"{run.run_id} went without a handoff or a sub-agent")
    return problems


def check_acts(acts: list[Act], runs: list[Run]) -> list[str]:
    """What must happen once happened at most once; what has its result never happened again."""
    problems: list[str] = []
    begun = Counter(act.key for act in acts if act.what == "begin" and act.tool == "pay")
    problems += [f"pay was done {times} times for {key}" for key, times in begun.items() if times > 1]
    answered: dict[str, int] = {}
    for run in runs:
        for event in run.events:
            if event["type"] == "TOOL_CALL_RESULT":
                answered[str(event["toolCallId"])] = int(cast(int, event["timestamp"]))
    for act in acts:
        if act.what == "begin" and act.at > answered.get(act.key, act.at):
            late_ms = act.at - answered[act.key]
            problems.append(f"{act.tool} began again for {act.key} {late_ms} ms after it had its result")
    for act in acts:
        if act.key not in answered:
            problems.append(f"{act.tool} acted for {act.key}, of which the log knows nothing")
    return problems


def check_transcript(transcript: Transcript, runs: list[Run]) -> list[str]:
    """Every accepted message has one run, and the client saw the session's log: in order, once, to the byte."""
    problems: list[str] = []
    by_word: dict[str, list[str]] = defaultdict(list)
    for run in runs:
        given = (
            cast("dict[str, list[dict[str, object]]]", run.events[0].get("input", {})) if run.lines else {}
        )
        for message in given.get("messages", []):
            by_word[str(message.get("content"))].append(run.run_id)
    for word, run_id in transcript.accepted.items():
        if by_word.get(word) != [run_id]:
            problems.append(f"{word!r} was accepted as {run_id}, the store has {by_word.get(word)}")
    log = {run.first_pos + number: line for run in runs for number, line in enumerate(run.lines, 1)}
    last = 0
    for pos, line in transcript.events:
        if pos != last + 1:
            problems.append(f"{transcript.session_id}: position {pos} came after {last}")
            break
        if log.get(pos) != line:
            problems.append(
                f"{transcript.session_id}: the client saw at {pos} what is not in the log: {line!r}"
            )
            break
        last = pos
    if not problems and transcript.accepted and last != max(log, default=0):
        problems.append(f"{transcript.session_id}: the client saw {last} of {max(log, default=0)} events")
    return problems
