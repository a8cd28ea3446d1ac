"""Maps errors of Postgres and of connections to StoreError, and says which are worth a retry."""

from urllib.parse import urlsplit

import msgspec

from agio.db.packing import DamagedLog
from agio.db.postgres.driver import driver
from agio.errors import AgioError, StoreError

_LOST = ("08", "57P01", "57P02", "57P03", "57P05", "53300", "25P03")
"""SQLSTATEs or their prefixes: connection errors, shutdowns, too many connections, idle timeouts."""
_GONE = ("closed", "closing", "released")
"""asyncpg's messages for a connection that ended before or during its use."""
_CONFLICT = ("40001", "40P01", "23505")
"""Serialization failures, deadlocks, and unique violations by a concurrent insert."""
_FULL = ("53100",)
_CORRUPT = ("XX001", "XX002")
_NOT_STORABLE = ("22", "54")
_REFUSED = ("3D000", "28")
"""There is no such database, or no such user."""


def is_lost(error: BaseException) -> bool:
    """Whether the server could not be reached, or the connection was lost."""
    if isinstance(error, driver().InterfaceError):
        return any(word in str(error) for word in _GONE)
    broken = (OSError, driver().InternalClientError)  # TimeoutError is an OSError
    return isinstance(error, broken) or _sqlstate(error).startswith(_LOST)


def is_conflict(error: BaseException) -> bool:
    """Whether a transaction conflicted with another one: it changed nothing and may be retried."""
    return _sqlstate(error).startswith(_CONFLICT)


def opening_error(error: Exception, url: str) -> AgioError:
    """The error of opening a database; its URL may be wrong too."""
    if _sqlstate(error).startswith(_REFUSED) or isinstance(error, ValueError):
        return _wrap("store_unavailable", "cannot be opened: check its URL, user and password", error, url)
    return postgres_error(error, url)


def postgres_error(error: Exception, url: str) -> AgioError:
    """Wrap an error in a StoreError; an AgioError is returned as it is."""
    state = _sqlstate(error)
    if isinstance(error, AgioError):
        return error
    if is_lost(error):
        code, text = "store_unavailable", "cannot be reached: check that Postgres runs, and try again"
    elif state.startswith(_FULL):
        code, text = "store_full", "is full: free some space on its disk and try again"
    elif state.startswith(_CORRUPT) or isinstance(error, DamagedLog | msgspec.DecodeError):
        code, text = "store_corrupt", "is damaged. Restore a copy or use another database"
    elif state.startswith(_NOT_STORABLE) or isinstance(error, driver().DataError):
        code, text = "not_storable", "cannot hold this value"
    else:
        code, text = "store_failed", "could not do this"
    return _wrap(code, text, error, url)


def where(url: str) -> str:
    """A URL without its user, password and options, for people to read."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "localhost", parts.port
    except ValueError:
        return "postgresql://..."
    if "@" in parts.path:  # a mistyped URL may have its password here
        return "postgresql://..."
    return f"postgresql://{host}{f':{port}' if port else ''}{parts.path}"


def _wrap(code: str, text: str, error: Exception, url: str) -> StoreError:
    place = where(url)
    wrapped = StoreError(code, f"The store {place} {text} ({_words(error)}).", {"store": place})
    wrapped.__cause__ = error
    return wrapped


def _words(error: Exception) -> str:
    """The database's message without the values that it may quote."""
    repeats = _sqlstate(error).startswith(_NOT_STORABLE) or isinstance(error, driver().DataError)
    words = "" if repeats else str(error).partition("\n")[0]
    return words or type(error).__name__


def _sqlstate(error: BaseException) -> str:
    return str(getattr(error, "sqlstate", None) or "")
