"""Writes that wait share a commit; writes that matter do not wait."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from typing import cast

import apsw
import msgspec
import pytest

from agio.core.engine.journal import Journal
from agio.core.model import Usage, VendorTurn
from agio.core.run.fold import Fold
from agio.core.store.repository import Append, NewRun, TurnRecord
from agio.db.repository import Repository, open_store
from agio.db.sqlite import writer
from agio.db.sqlite.connector import Connection
from agio.protocol.events import StepStarted, TextMessageChunk
from agio.protocol.frames import Frame

RUNS = [f"r{number}" for number in range(60)]


async def test_the_frames_of_many_runs_share_commits(tmp_path: Path) -> None:
    """L9: sixty appends at once are a few rows of the tail."""
    store = await _open(tmp_path)
    await asyncio.gather(*(store.append(Append(Frame(run_id, 1, 1, 1, b"1\n"))) for run_id in RUNS))
    assert _ask(tmp_path, "select count(*) from tail") <= 12
    await store.close()


async def test_a_finished_turn_does_not_wait_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """L9: turns are committed soon, however slow the pace is that the others share."""
    store = await _open(tmp_path)
    monkeypatch.setattr(writer, "pace_s", _for_ever)
    for seq in range(1, 21):
        write = Append(Frame("r0", 1, seq, 1, b"1\n"), [_turn("r0", seq)])
        await asyncio.wait_for(store.append(write), 60)
    await store.close()


async def test_the_first_text_of_a_message_waits_for_no_pace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R6: it hurries the append that it must wait for; the text that follows shares commits, until a caller waits."""
    store = await _open(tmp_path)
    monkeypatch.setattr(writer, "pace_s", _for_ever)
    await store.append(Append(Frame("r1", 1, 1, 1, b"1\n"), [_turn("r1", 1)]))
    sent = asyncio.Event()

    def append(write: Append) -> Awaitable[None]:
        sent.set()
        return store.append(write)

    journal = Journal(Fold(), "r0", 1, append, hurry=store.hurry)
    others = asyncio.ensure_future(store.append(Append(Frame("r1", 1, 2, 1, b"2\n"))))
    journal.emit(StepStarted("step-1"))
    await asyncio.wait_for(sent.wait(), 60)
    journal.emit(TextMessageChunk("m", delta="a"))
    shown = [await asyncio.wait_for(journal.next(), 60) for _ in range(2)]
    assert [type(event) for event in shown] == [StepStarted, TextMessageChunk]
    journal.emit(TextMessageChunk("m", delta="b"))
    await journal.commit()
    assert not others.done()
    await store.append(Append(Frame("r1", 1, 3, 1, b"3\n"), [_turn("r1", 3)]))
    assert others.done()
    await store.close()


async def test_a_store_is_opened_for_durability(tmp_path: Path) -> None:
    """B1: the writer uses a write-ahead log, syncs every commit and enforces references."""
    opened: list[Connection] = []

    def note(connection: apsw.Connection) -> None:
        opened.append(cast("Connection", connection))

    apsw.connection_hooks.append(note)
    try:
        store = await open_store(tmp_path / "agio.db")
    finally:
        apsw.connection_hooks.remove(note)
    settings = {name: opened[0].pragma(name) for name in ("journal_mode", "synchronous", "foreign_keys")}
    assert settings == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}
    await store.close()


async def _open(folder: Path) -> Repository:
    store = await open_store(folder / "agio.db")
    for run_id in RUNS:
        await store.create_run(NewRun(run_id, run_id, "a", "m", "mark"))
    return store


def _ask(folder: Path, query: str) -> int:
    connection = cast("Connection", apsw.Connection(str(folder / "agio.db"), flags=apsw.SQLITE_OPEN_READONLY))
    answer = msgspec.convert(connection.execute(query).get, int)
    connection.close()
    return answer


def _turn(run_id: str, seq: int) -> TurnRecord:
    return TurnRecord(run_id, seq, seq, "m", "end", Usage(), VendorTurn("openai", []))


def _for_ever(running: int, share: float = 1.0) -> float:
    return 1e9 if share == 1.0 else 0.0
