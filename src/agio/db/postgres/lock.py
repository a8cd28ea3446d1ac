"""The lock of the one gateway on a database. Its holder may claim runs; it ends with its connection."""

from agio.db.postgres.driver import Connection, connect
from agio.db.postgres.errors import opening_error
from agio.errors import StoreError

_KEY = 0x6167696F2D6777
"""`agio-gw` in ASCII: not the key of migrations, which may run beside a gateway."""
_TAKE = f"select pg_try_advisory_lock({_KEY})"


class GatewayLock:
    """The lock of the one gateway of a database."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def release(self) -> None:
        """Free the database for another gateway."""
        await self._connection.close()


async def lock_database(url: str) -> GatewayLock:
    """Take the lock. Raises StoreError `store_locked` if another gateway has it."""
    try:
        connection = await connect(url)
        [(taken,)] = await connection.fetch(_TAKE)
    except Exception as error:
        raise opening_error(error, url) from error
    if not taken:
        await connection.close()
        raise StoreError(
            "store_locked",
            "Another agio server or gateway uses this database. Stop it first: several at once are not supported yet.",
        )
    return GatewayLock(connection)
