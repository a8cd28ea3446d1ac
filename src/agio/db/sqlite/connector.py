"""The part of apsw that db/ uses, fully typed."""

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Protocol, TypeAlias

Row: TypeAlias = tuple[object, ...]


class Cursor(Protocol):
    """The result of a statement."""

    @property
    def get(self) -> object:
        """The value of a single column and row; None if there is no row."""
        ...

    def fetchone(self) -> Row | None:
        """The next row."""
        ...

    def fetchall(self) -> list[Row]:
        """The remaining rows."""
        ...


class Connection(Protocol):
    """A connection; as a context manager it is a transaction."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        ...

    def execute(
        self, statements: str, bindings: Sequence[object] | Mapping[str, object] | None = None
    ) -> Cursor:
        """Run SQL."""
        ...

    def executemany(self, statements: str, sequenceofbindings: Sequence[Mapping[str, object]]) -> Cursor:
        """Run SQL for each of the bindings."""
        ...

    def config(self, option: int, value: int, /) -> int:
        """Set one of SQLite's options for the connection."""
        ...

    def pragma(self, name: str, value: int | str | None = None) -> object:
        """Set or read a pragma."""
        ...

    def create_scalar_function(
        self, name: str, function: Callable[..., object], numargs: int, /, *, deterministic: bool
    ) -> None:
        """Add a function to the connection's SQL."""
        ...

    def enable_load_extension(self, enable: bool, /) -> None:
        """Allow loading extensions."""
        ...

    def load_extension(self, filename: str, /) -> None:
        """Load an extension."""
        ...

    def set_busy_timeout(self, milliseconds: int) -> None:
        """How long to wait for another connection's lock."""
        ...

    def interrupt(self) -> None:
        """Make the statement of another thread fail soon."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...

    def __enter__(self) -> object: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None: ...
