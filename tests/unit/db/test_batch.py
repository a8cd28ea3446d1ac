"""One commit of many runs: refusals stay alone, the tail stays short, a failure leaves no trace."""

from collections.abc import Mapping
from typing import cast

import msgspec
import pytest

from agio.core.store.repository import Append, NewRun, Outcome
from agio.db.pace import MAX_PACE_S, pace_s
from agio.db.packing import DamagedLog
from agio.db.plan import Hold, Plan, ask
from agio.db.plans.people.identity import KEPT_MS, sweep
from agio.db.plans.runs.log import get_log
from agio.db.plans.runs.runs import claim_run, create_run
from agio.db.plans.sessions.sessions import delete_session
from agio.db.queries import load_queries
from agio.db.records import now_ms
from agio.db.sqlite.batch import TAIL_ROWS, Batch, HalfWritten
from agio.db.sqlite.connector import Connection, Cursor
from agio.db.sqlite.database import open_writable
from agio.db.sqlite.live import LiveRuns, load_live_runs
from agio.db.sqlite.reader import LogReader
from agio.errors import StoreError
from agio.protocol.frames import Frame
from agio.protocol.messages import UserMessage

QUERIES = load_queries("sqlite")


class Bench:
    """A store in memory, driven without its thread."""

    def __init__(self, *runs: str) -> None:
        self.connection, _ = open_writable(None)
        self.live: LiveRuns = load_live_runs(self.connection, QUERIES)
        batch = self.batch()
        for run_id in runs:
            batch.run(create_run(NewRun(run_id, run_id, "a", "m", "mark")))
        batch.commit()

    def batch(self) -> Batch:
        return Batch(self.connection, QUERIES, self.live)

    def append(self, *frames: Frame) -> None:
        batch = self.batch()
        for frame in frames:
            batch.append(Append(frame))
        batch.commit()

    def end(self, frame: Frame) -> None:
        batch = self.batch()
        batch.append(Append(frame, (), "completed"))
        batch.commit()

    def payload(self, run_id: str) -> bytes:
        return LogReader(self.connection, QUERIES, self.live.runs.get).run(get_log(run_id)).payload

    def count(self, table: str) -> int:
        return msgspec.convert(self.connection.execute(f"select count(*) from {table}").get, int)


class Counted:
    """A connection that notes what is run on it."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.statements: list[str] = []

    def execute(self, statements: str, bindings: Mapping[str, object] | None = None) -> Cursor:
        self.statements.append(statements)
        return self.connection.execute(statements, bindings)


def line(run_id: str, seq: int, text: str = "x") -> Frame:
    return Frame(run_id, 1, seq, 1, f'"{run_id} {seq} {text}"\n'.encode())


def test_all_runs_of_a_commit_share_one_tail_row() -> None:
    """L9: a commit writes one row, however many runs it carries."""
    bench = Bench("a", "b", "c")
    bench.append(line("a", 1), line("b", 1), line("c", 1), line("a", 2))
    assert bench.count("tail") == 1
    assert bench.payload("a") == line("a", 1).payload + line("a", 2).payload


def test_a_commit_of_frames_alone_is_one_statement() -> None:
    """L9: however many runs append, nothing but the tail's row is written and nothing is asked."""
    bench = Bench("a", "b", "c")
    counted = Counted(bench.connection)
    batch = Batch(cast("Connection", counted), QUERIES, bench.live)
    for name in ("a", "b", "c"):
        batch.append(Append(line(name, 1)))
    batch.commit()
    assert counted.statements == [QUERIES["append_tail"]]


def test_a_key_is_remembered_for_seven_days() -> None:
    """R3: an older one is as if it had never been, swept or not."""
    bench = Bench("a")
    batch = bench.batch()
    day_ms = 24 * 3600 * 1000
    place = {
        "tenant": "default",
        "user_id": "local",
        "kind": "key",
        "scope": "a",
        "digest": b"",
        "run_id": "r",
    }
    for age, name in ((6, b"young"), (8, b"old")):
        batch.run(ask("put_key", hash=name, now=now_ms() - age * day_ms, **place))
    since = now_ms() - KEPT_MS
    found = [bool(batch.run(ask("find_key", hash=name, since=since, **place))) for name in (b"young", b"old")]
    batch.run(sweep())
    batch.commit()
    assert found == [True, False]
    assert bench.count("idempotency_keys") == 1


def test_a_refused_write_leaves_its_batch_alone() -> None:
    """L9: writes before and after a refused one are committed."""
    bench = Bench("a", "b")
    batch = bench.batch()
    batch.append(Append(line("a", 1)))
    with pytest.raises(StoreError, match="sequence_gap"):
        batch.append(Append(line("b", 7)))
    batch.append(Append(line("b", 1)))
    batch.commit()
    assert bench.payload("a") + bench.payload("b") == line("a", 1).payload + line("b", 1).payload


def test_a_rollback_leaves_memory_and_file_as_they_were() -> None:
    """B1: appends, creations, claims and ends of a failed commit are gone, and the run goes on."""
    bench = Bench("a", "b")
    bench.append(line("a", 1), line("b", 1))
    before = msgspec.structs.asdict(bench.live)["runs"].copy()
    batch = bench.batch()
    batch.append(Append(line("a", 2, "lost")))
    batch.run(claim_run("a"))
    batch.run(create_run(NewRun("c", "c", "a", "m", "mark")))
    batch.append(Append(line("b", 2, "lost"), (), "completed"))
    batch.rollback()
    assert bench.live.runs == before
    assert bench.payload("a") == line("a", 1).payload
    assert load_live_runs(bench.connection, QUERIES).runs == before
    bench.append(line("a", 2), line("b", 2))
    assert bench.payload("b") == line("b", 1).payload + line("b", 2).payload


def test_a_refused_plan_leaves_nothing_in_its_batch() -> None:
    """L9: what a plan wrote before it refused is gone; its neighbours' writes are committed."""

    def refuse() -> Plan[None]:
        yield from create_run(NewRun("c", "c", "a", "m", "mark"))
        yield Hold("a", 7, 0)
        raise StoreError("refused", "No.")

    bench = Bench("a")
    batch = bench.batch()
    batch.append(Append(line("a", 1)))
    with pytest.raises(StoreError, match="refused"):
        batch.run(refuse())
    batch.run(create_run(NewRun("d", "d", "a", "m", "mark")))
    batch.append(Append(line("a", 2)))
    batch.commit()
    assert bench.live.runs.keys() == {"a", "d"}
    assert bench.payload("a") == line("a", 1).payload + line("a", 2).payload
    assert bench.count("runs") == bench.count("agent_sessions") == 2


def test_an_end_that_cannot_be_kept_leaves_the_run_running() -> None:
    """B1: a message that cannot be written refuses the whole append, and the run goes on."""
    bench = Bench("a")
    broken = UserMessage(id="m", content="x", metadata={"no": object()})
    batch = bench.batch()
    with pytest.raises(HalfWritten, match="not_storable"):
        batch.append(Append(line("a", 1), (), "completed", outcome=Outcome(messages=[broken])))
    batch.rollback()
    bench.append(line("a", 1))
    assert bench.live.runs["a"].last_seq == 1
    assert bench.count("logs") == 0


def test_a_deleted_run_leaves_no_frame_in_the_tail() -> None:
    """C5: rows it shared with other runs are rewritten without it."""
    bench = Bench("a", "b")
    bench.append(line("a", 1, "secret"), line("b", 1))
    bench.append(line("a", 2, "secret"), line("b", 2))
    batch = bench.batch()
    batch.append(Append(line("a", 3, "secret")))
    batch.append(Append(line("b", 3)))
    batch.run(delete_session("default", "local", "a"))
    batch.append(Append(line("b", 4)))
    batch.commit()
    tail = bench.connection.execute("select frames from tail").fetchall()
    assert not any(b"secret" in frames for (frames,) in msgspec.convert(tail, list[tuple[bytes]]))
    assert bench.live.runs.keys() == {"b"}
    assert load_live_runs(bench.connection, QUERIES).runs.keys() == {"b"}
    assert bench.payload("b") == b"".join(line("b", seq).payload for seq in (1, 2, 3, 4))


def test_readers_see_nothing_before_the_commit() -> None:
    """L9: an event becomes visible with its commit and not before."""
    bench = Bench("a")
    batch = bench.batch()
    batch.append(Append(line("a", 1)))
    assert bench.payload("a") == b""
    batch.commit()
    assert bench.payload("a") == line("a", 1).payload


def test_the_tail_is_empty_when_all_runs_have_ended() -> None:
    """L9: what is sealed is not kept twice."""
    bench = Bench("a", "b")
    bench.append(line("a", 1), line("b", 1))
    bench.append(line("a", 2))
    bench.end(line("a", 3))
    assert bench.count("tail") == 2
    bench.end(line("b", 2))
    assert bench.count("tail") == 0
    assert bench.count("logs") == 2


def test_the_tail_keeps_only_rows_that_a_running_run_needs() -> None:
    """L9: rows older than the oldest unsealed frame are dropped at the next end."""
    bench = Bench("a", "b")
    bench.append(line("a", 1))
    bench.append(line("b", 1))
    bench.end(line("a", 2))
    assert bench.count("tail") == 1
    assert load_live_runs(bench.connection, QUERIES).runs.keys() == {"b"}


def test_a_slow_run_does_not_keep_the_tail_long() -> None:
    """L9: a run that waits while others write is moved out of their way."""
    bench = Bench("slow", "busy")
    bench.append(line("slow", 1))
    for seq in range(1, TAIL_ROWS + 100):
        bench.append(line("busy", seq))
    assert bench.count("tail") < 200
    assert bench.payload("slow") == line("slow", 1).payload
    assert bench.payload("busy").count(b"\n") == TAIL_ROWS + 99
    assert load_live_runs(bench.connection, QUERIES).runs["busy"].last_seq == TAIL_ROWS + 99


def test_a_gap_in_the_tail_is_reported_as_damage() -> None:
    """B1: a log with a hole is never served as if it were whole."""
    bench = Bench("a")
    bench.append(line("a", 1))
    bench.append(line("a", 2))
    bench.append(line("a", 3))
    _damage(bench.connection, "delete from tail where id = 2")
    with pytest.raises(DamagedLog, match="lacks events 2 to 2"):
        load_live_runs(bench.connection, QUERIES)


def test_commits_are_paced_by_the_number_of_running_runs() -> None:
    """L9: alone a run never waits; many runs share commits, at most 50 ms apart."""
    assert [pace_s(running) for running in (0, 1)] == [0, 0]
    assert pace_s(20) == pytest.approx(0.02)
    assert pace_s(500) == MAX_PACE_S == 0.05


def _damage(connection: Connection, statement: str) -> None:
    connection.execute(statement)
