"""The stores the contract suites run on, and small logs to put in them."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from agio.core.model import Usage, VendorTurn
from agio.core.repository import AgentRunRepository, Append, NewRun, RunInfo, RunStatus, TurnRecord
from agio.core.store import Store
from agio.db.repository import open_store
from agio.protocol.codec import encode
from agio.protocol.events import TextMessageChunk
from agio.protocol.frames import Frame


KINDS = ["sqlite-memory", "sqlite-file"]
"""Every kind of store there is."""
LASTING_KINDS = ["sqlite-file"]
"""Those that stay when they are closed."""


async def open_kind(kind: str, folder: Path) -> Store:
    """Open an empty store of a kind."""
    if kind == "sqlite-memory":
        return await open_store(":memory:")
    return await lasting_backend(kind, folder).open()


def lasting_backend(kind: str, folder: Path) -> "Backend":
    """A place for a store of a kind that stays when it is closed."""
    assert kind == "sqlite-file"
    return SqliteFile(folder)


class Backend(Protocol):
    """A place for a store that can be opened again."""

    async def open(self) -> Store:
        """Open the store."""
        ...

    async def open_after_crash(self) -> Store:
        """Open what a crash at this moment would leave, while the first store stays open."""
        ...


class SqliteFile:
    """A store in a file."""

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
