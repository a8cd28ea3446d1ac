"""The part of asyncpg that db/ uses, fully typed; imported when a database is opened."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Protocol, cast

CONNECTIONS = 10
"""The most connections one store opens, unless it is given another number."""
CONNECT_TIMEOUT_S = 10
ANSWER_TIMEOUT_S = 30.0
"""How long one statement may take."""
STATEMENTS = 500
"""How many prepared statements a connection keeps: more than there are queries."""
SETTINGS = {
    "application_name": "agio",
    "jit": "off",
    "idle_in_transaction_session_timeout": "10s",  # a stopped process must not block others
    "statement_timeout": "30s",
    "tcp_keepalives_idle": "10",  # the connections of a machine that was cut off end within half a minute
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}


class Connection(Protocol):
    """A connection to Postgres."""

    async def execute(self, query: str, *arguments: object, timeout: float | None = None) -> str:
        """Run SQL; without arguments it may be several statements."""
        ...

    async def fetch(self, query: str, *arguments: object) -> list[Sequence[object]]:
        """Run a statement and return its rows."""
        ...

    async def executemany(self, command: str, args: Sequence[Sequence[object]]) -> None:
        """Run a statement for each of these arguments, pipelined."""
        ...

    async def close(self, *, timeout: float | None = None) -> None:
        """Close the connection in good order."""
        ...

    def terminate(self) -> None:
        """Close at once."""
        ...


class Connections(Protocol):
    """A pool of connections; it replaces broken ones."""

    async def acquire(self, *, timeout: float | None = None) -> Connection:
        """Take a connection out."""
        ...

    async def release(self, connection: Connection, *, timeout: float | None = None) -> None:
        """Put a connection back."""
        ...

    async def close(self) -> None:
        """Wait for the connections in use and close all."""
        ...

    def terminate(self) -> None:
        """Close all at once."""
        ...


class Driver(Protocol):
    """The module asyncpg."""

    InterfaceError: type[Exception]
    """A wrong call, or a closed connection."""
    InternalClientError: type[Exception]
    """An unexpected protocol message, such as the end of an idle connection."""
    DataError: type[Exception]
    """A value does not fit its column."""

    def connect(
        self,
        dsn: str,
        *,
        timeout: float,
        command_timeout: float,
        server_settings: Mapping[str, str],
    ) -> Awaitable[Connection]:
        """Open a connection."""
        ...

    def create_pool(
        self,
        dsn: str,
        *,
        min_size: int,
        max_size: int,
        reset: Callable[[Connection], Awaitable[None]],
        timeout: float,
        command_timeout: float,
        statement_cache_size: int,
        server_settings: Mapping[str, str],
    ) -> Awaitable[Connections]:
        """Open a pool."""
        ...


@cache
def driver() -> Driver:
    """The module, imported at the first use."""
    return cast("Driver", import_module("asyncpg"))


async def connect(url: str) -> Connection:
    """Open one connection. Raises what asyncpg raises."""
    return await driver().connect(
        url, timeout=CONNECT_TIMEOUT_S, command_timeout=ANSWER_TIMEOUT_S, server_settings=SETTINGS
    )


async def connect_pool(url: str, connections: int = CONNECTIONS) -> Connections:
    """Open a pool with one connection. Raises what asyncpg raises."""
    return await driver().create_pool(
        url,
        min_size=1,
        max_size=connections,
        reset=_keep,
        timeout=CONNECT_TIMEOUT_S,
        command_timeout=ANSWER_TIMEOUT_S,
        statement_cache_size=STATEMENTS,
        server_settings=SETTINGS,
    )


async def _keep(_: Connection) -> None:
    """Skip the reset of a returned connection: no state outlives its transaction."""
