"""Cursors of paged lists: the sort key of a page's last item, opaque to the caller."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from agio.core.store.records import Page
from agio.errors import UserError

K = TypeVar("K", bound=Sequence[object])
R = TypeVar("R")
T = TypeVar("T")

MAX_PAGE = 500
_TOO_LARGE = 2**63


def page_size(limit: int) -> int:
    """The size of a page: `limit`, between 1 and MAX_PAGE."""
    return max(1, min(limit, MAX_PAGE))


def page_of(
    rows: Sequence[R], limit: int, item: Callable[[R], T], key: Callable[[R], Sequence[object]]
) -> Page[T]:
    """Make a page from up to one row more than its size; the extra row says that there is a next page."""
    size = page_size(limit)
    shown = rows[:size]
    return Page([item(row) for row in shown], write_cursor(key(shown[-1])) if len(rows) > size else None)


def write_cursor(key: Sequence[object]) -> str:
    """Encode a sort key."""
    return urlsafe_b64encode(msgspec.json.encode(key)).rstrip(b"=").decode()


def read_cursor(cursor: str, kind: type[K]) -> K:
    """Decode a cursor. Raises UserError `invalid_cursor`."""
    try:
        packed = cursor.encode("ascii")
        key = msgspec.json.decode(urlsafe_b64decode(packed + b"=" * (-len(packed) % 4)), type=kind)
    except (ValueError, msgspec.DecodeError) as error:
        raise _invalid_cursor() from error
    if any(isinstance(part, int) and abs(part) >= _TOO_LARGE for part in key):  # beyond the range of a bigint
        raise _invalid_cursor()
    return key


def pattern_of(search: str | None) -> str | None:
    """A `like` pattern that finds a substring in lower-case text; None without a search."""
    if not search:
        return None
    quoted = search.lower().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{quoted}%"


def _invalid_cursor() -> UserError:
    return UserError("invalid_cursor", "This cursor is invalid. Start again without a cursor.")
