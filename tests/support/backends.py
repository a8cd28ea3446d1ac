"""The stores the contract suites run on, and small logs to put in them."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import pytest

from agio.core.model import Usage, VendorTurn
from agio.core.store.repository import AgentRunRepository, Append, NewRun, RunInfo, RunStatus, TurnRecord
from agio.core.store.store import Store
from agio.db.postgres.driver import connect
from agio.db.postgres.executor import open_postgres
from agio.db.queries import number_parameters
from agio.db.repository import Repository, open_store
from agio.db.sqlite.database import open_unchecked
from agio.protocol.codec import encode
from agio.protocol.events import TextMessageChunk
from agio.protocol.frames import Frame

KINDS = ["sqlite-memory", "sqlite-file", "postgres"]
"""Every kind of store there is."""
LASTING_KINDS = ["sqlite-file", "postgres"]
"""Those that stay when they are closed."""


async def open_kind(request: pytest.FixtureRequest) -> Store:
    """Open an empty store of the kind a test is run on."""
    if request.param == "sqlite-memory":
        return await open_store(":memory:")
    return await lasting_backend(request).open()


def lasting_backend(request: pytest.FixtureRequest) -> "Backend":
    """A place for a store, of the kind a test is run on, that stays when it is closed."""
    if request.param == "postgres":
        return PostgresDatabase(request.getfixturevalue("postgres_url"))
    return SqliteFile(request.getfixturevalue("tmp_path"))


class Backend(Protocol):
    """A place for a store that can be opened again."""

    async def open(self) -> Store:
        """Open the store."""
        ...

    async def open_after_crash(self) -> Store:
        """Open what a crash at this moment would leave, while the first store stays open."""
        ...

    @property
    def log_table(self) -> str:
        """The table of stored events."""
        ...

    async def execute(self, statement: str, **values: object) -> list[tuple[object, ...]]:
        """Run SQL with parameters `:name` beside the store."""
        ...


class SqliteFile:
    """A store in a file."""

    log_table = "logs"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "agio.db"
        self.crashes = 0

    async def open(self) -> Store:
        return await open_store(self.path)

    async def open_after_crash(self) -> Store:
        self.crashes += 1
        copy = self.folder / f"crash-{self.crashes}"
        copy.mkdir()
        for name in ("agio.db", "agio.db-wal"):
            if (self.folder / name).exists():
                shutil.copyfile(self.folder / name, copy / name)
        return await open_store(copy / "agio.db")

    async def execute(self, statement: str, **values: object) -> list[tuple[object, ...]]:
        connection = open_unchecked(self.path)
        try:
            return connection.execute(statement, values).fetchall()
        finally:
            connection.close()


class PostgresDatabase:
    """A store in a database, which outlives the processes that use it."""

    log_table = "frames"

    def __init__(self, url: str) -> None:
        self.url = url

    async def open(self) -> Store:
        return Repository(await open_postgres(self.url))

    async def open_after_crash(self) -> Store:
        return await self.open()

    async def execute(self, statement: str, **values: object) -> list[tuple[object, ...]]:
        numbered = number_parameters(statement)
        connection = await connect(self.url)
        try:
            rows = await connection.fetch(numbered.sql, *[values[name] for name in numbered.names])
            return [tuple(row) for row in rows]
        finally:
            await connection.close()


def frame(run_id: str, first_seq: int, count: int, *, epoch: int = 1, text: str = "é") -> Frame:
    """A frame of text chunks whose content follows from its arguments."""
    lines = [
        encode(TextMessageChunk(message_id="msg_1", delta=f"{text} {seq}")) + b"\n"
        for seq in range(first_seq, first_seq + count)
    ]
    return Frame(run_id, epoch, first_seq, count, b"".join(lines))


def turn(run_id: str, step: int, seq: int) -> TurnRecord:
    """A turn record with something vendor-like in it."""
    vendor = VendorTurn("openai", [{"type": "reasoning", "id": f"rs_{step}", "summary": [None, 1.5, "ü"]}])
    return TurnRecord(run_id, step, seq, "gpt", "end", Usage(input=10, output=step), vendor)


def new_run(run_id: str, *, thread: str | None = None, agent: str = "a") -> NewRun:
    """A run about to begin."""
    return NewRun(run_id, thread or f"thread of {run_id}", agent, "gpt", "mark", title=f"title of {run_id}")


async def begin(
    store: AgentRunRepository, run_id: str, *, thread: str | None = None, agent: str = "a"
) -> RunInfo:
    """Create a run."""
    return await store.create_run(new_run(run_id, thread=thread, agent=agent))


async def finish(
    store: AgentRunRepository,
    run_id: str,
    first_seq: int,
    *,
    epoch: int = 1,
    end: RunStatus = "completed",
    turns: Sequence[TurnRecord] = (),
) -> Append:
    """Append a last event."""
    write = Append(frame(run_id, first_seq, 1, epoch=epoch), turns, end)
    await store.append(write)
    return write
