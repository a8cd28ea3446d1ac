"""Errors in the log: their kind and place, never data of requests or of the store.

The message of a foreign exception often contains the offending value. So a message is kept only for kinds that name
parts of the program or the network. Our own errors keep their code, and their message if it concerns our own parts.
"""

from collections.abc import Iterator
from traceback import StackSummary, walk_tb
from typing import cast

from agio.errors import AgioError, BusError, StoreError

_OURS = (StoreError, BusError)
_PLAIN = (AttributeError, ImportError, NameError, TypeError, TimeoutError)
_PLAIN_MODULES = ("ssl", "websockets")
_WORDS = 500
_CAUSES = 8


def words_of(error: BaseException) -> str:
    """Return an error as text that is safe to log."""
    name = type(error).__name__
    if isinstance(error, AgioError):
        return f"{_short(error.message)} [{error.code}]" if isinstance(error, _OURS) else f"[{error.code}]"
    if isinstance(error, OSError):
        return f"{name}: {_short(error.strerror)}" if error.strerror else name
    plain = isinstance(error, _PLAIN) or type(error).__module__.partition(".")[0] in _PLAIN_MODULES
    return f"{name}: {_short(str(error))}" if plain and str(error) else name


def trace_of(error: BaseException) -> str:
    """Return the traceback of an error, without argument values, causes first."""
    return "\n\nThat led to:\n\n".join(_trace(each) for each in reversed(list(_chain(error))))


def _trace(error: BaseException) -> str:
    calls = "".join(StackSummary.extract(walk_tb(error.__traceback__)).format())
    inner = ""
    if isinstance(error, BaseExceptionGroup):
        parts = cast("tuple[BaseException, ...]", error.exceptions)  # pyright: ignore[reportUnknownMemberType]
        inner = "".join(f"\n  of which: {words_of(each)}" for each in parts[:_CAUSES])
    return f"{calls}{words_of(cast('BaseException', error))}{inner}"


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    each: BaseException | None = error
    while each is not None and id(each) not in seen and len(seen) < _CAUSES:
        seen.add(id(each))
        yield each
        each = each.__cause__ or (None if each.__suppress_context__ else each.__context__)


def _short(words: str) -> str:
    return words if len(words) <= _WORDS else f"{words[:_WORDS]}..."
