"""One gateway on a database: whoever holds this lock may claim runs. It ends with the connection, however that ends."""

from agio.db.postgres.driver import Connection, connect
from agio.db.postgres.errors import opening_error
from agio.errors import StoreError

_KEY = 0x6167696F2D6777
"""`agio-gw` in ASCII: another than that of whoever migrates, who may come while a gateway works."""
_TAKE = f"select pg_try_advisory_lock({_KEY})"


class GatewayLock:
    """The lock of the one gateway of a database."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def release(self) -> None:
        """Let another gateway have the database."""
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
            "Another agio server or gateway works on this database: stop it there. Several at once come later.",
        )
    return GatewayLock(connection)
