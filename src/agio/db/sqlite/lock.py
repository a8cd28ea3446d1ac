"""The lock of a store: one process at a time is its writer."""

import fcntl
import os
import socket
import sys
from contextlib import suppress
from pathlib import Path

import msgspec

from agio.errors import StoreError


class Holder(msgspec.Struct, frozen=True):
    """Who holds a store, as the lock file says."""

    pid: int
    host: str


def holder_of(store: Path) -> Holder | None:
    """Return who holds a store, or held it until a crash; None if it is free. Raises OSError."""
    try:
        return msgspec.json.decode(_lock_file(store).read_bytes(), type=Holder)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


class StoreLock:
    """Exclusive locks on `<store>.lock`, which names the holder, and on the store, which is not deleted by accident.

    The kernel releases both when the process dies. On Linux `flock` does not meet SQLite's own locks (`fcntl`); on
    other systems the two may exclude each other, so only the lock file is locked there.
    """

    def __init__(self, store: Path) -> None:
        self._path = _lock_file(store)
        self._store = store
        self._file: int | None = None
        self._store_file: int | None = None

    def acquire(self) -> None:
        """Take the lock, making an empty store if there is no file.

        Raises StoreError `store_locked` that names the holder; OSError.
        """
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(file, 1024)
            os.close(file)
            raise self._refusal(holder) from error
        except OSError:
            os.close(file)
            raise
        try:
            self._store_file = self._lock_store()
        except BaseException:
            os.close(file)
            raise
        self._file = file
        with suppress(OSError):  # the name is for people: a full disk must not keep a store closed
            os.ftruncate(file, 0)
            os.pwrite(file, msgspec.json.encode(Holder(os.getpid(), socket.gethostname())), 0)

    def release(self) -> None:
        """Let go, after the last connection is closed: closing any descriptor of the store drops SQLite's locks on it.

        The lock file stays: removing it would let two processes lock two files of one name.
        """
        if self._store_file is not None:
            os.close(self._store_file)
            self._store_file = None
        if self._file is not None:
            os.ftruncate(self._file, 0)
            os.close(self._file)
            self._file = None

    def _lock_store(self) -> int:
        file = os.open(self._store, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)  # conversations are private
        if sys.platform == "linux":
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                # Left open: this process may be the holder, whose SQLite locks closing it would drop.
                raise self._refusal(b"") from error
        return file

    def _refusal(self, content: bytes) -> StoreError:
        try:
            holder = msgspec.json.decode(content, type=Holder)
        except msgspec.DecodeError:
            who, details = "another process", {}
        else:
            mine = holder == Holder(os.getpid(), socket.gethostname())
            who = "this process" if mine else f"process {holder.pid} on {holder.host}"
            details = {"pid": holder.pid, "host": holder.host}
        return StoreError(
            "store_locked",
            f"The store {self._store} is in use by {who}. Close it there, use another file, "
            "or open this one read-only.",
            {"path": str(self._store), **details},
        )


def _lock_file(store: Path) -> Path:
    return store.with_name(store.name + ".lock")
