"""The time that a search speaks of: "last week", "in March", "on 3 May", "two days ago"."""

import re
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from agio.db.search.stems import MONTHS

Span: TypeAlias = tuple[int, int]
"""From and until, in milliseconds since 1970."""

_UNITS = {"day": 1, "week": 7, "month": 30, "year": 365}
_COUNTS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "couple of": 2, "three": 3, "few": 3, "four": 4, "five": 5, "six": 6,
    "seven": 7, "eight": 8, "nine": 9, "ten": 10,
}  # fmt: skip
_MONTH = "|".join(f"{name}|{name[:3]}" for name in MONTHS)
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_ISO = re.compile(r"\b(\d{4})-(\d\d)(?:-(\d\d))?\b")
_AGO = re.compile(rf"\b(\d{{1,3}}|{'|'.join(_COUNTS)})\s+(day|week|month|year)s?\s+ago\b")
_LAST = re.compile(r"\b(last|past|previous|this)\s+(?:(\d{1,3})\s+)?(day|week|month|year)s?\b")
_DATE = re.compile(
    rf"\b(?:(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?)?({_MONTH})\b\.?"
    r"(?:\s+(\d{1,2})(?:st|nd|rd|th)?(?!\d))?(?:,?\s+(\d{4}))?"
)
_WEEKDAY = re.compile(rf"\b(?:last|on|this)\s+({'|'.join(_DAYS)})\b")


def span_of(text: str, now: int) -> Span | None:
    """Return the time that a text speaks of, counted from `now`; None: of none."""
    said = text.casefold()
    today = datetime.fromtimestamp(now / 1000, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        return _iso(said) or _relative(said, today) or _month(said, today)
    except (ValueError, OverflowError):  # there is no 31 June
        return None


def _iso(said: str) -> Span | None:
    if (found := _ISO.search(said)) is None:
        return None
    year, month, day = int(found[1]), int(found[2]), found[3]
    return _whole_month(year, month) if day is None else _days(datetime(year, month, int(day), tzinfo=UTC), 1)


def _relative(said: str, today: datetime) -> Span | None:
    if re.search(r"\byesterday\b", said):
        return _days(today - timedelta(1), 1)
    if re.search(r"\b(today|tonight|this morning)\b", said):
        return _days(today, 1)
    if found := _AGO.search(said):
        count, unit = found[1], _UNITS[found[2]]
        days = (int(count) if count.isdigit() else _COUNTS[count]) * unit
        slack = max(unit // 2, 0)
        return _days(today - timedelta(days + slack), 2 * slack + 1)
    if found := _WEEKDAY.search(said):
        back = (today.weekday() - _DAYS.index(found[1])) % 7 or 7
        return _days(today - timedelta(back), 1)
    if found := _LAST.search(said):
        return _period(found[1], int(found[2] or 1), found[3], today)
    return None


def _period(which: str, count: int, unit: str, today: datetime) -> Span:
    """The period before this one, this one so far, or the last so many days."""
    if which == "past" or count > 1 or unit == "day":
        return _days(today - timedelta(count * _UNITS[unit]), count * _UNITS[unit] + 1)
    monday = today - timedelta(today.weekday())
    if unit == "week":
        return _days(monday, 7) if which == "this" else _days(monday - timedelta(7), 7)
    if unit == "month":
        before = today.replace(day=1) - timedelta(1)
        return (
            _whole_month(today.year, today.month)
            if which == "this"
            else _whole_month(before.year, before.month)
        )
    year = today.year - (which != "this")
    return _whole_month(year, 1)[0], _whole_month(year, 12)[1]


def _month(said: str, today: datetime) -> Span | None:
    for found in _DATE.finditer(said):
        name, day = found[2], found[1] or found[3]
        if (
            name == "may"
            and day is None
            and found[4] is None
            and not re.search(r"\b(in|last|of|during) may\b", said)
        ):
            continue  # the verb
        month = next(number for number, full in enumerate(MONTHS, 1) if full.startswith(name[:3]))
        year = int(found[4]) if found[4] else today.year - (month > today.month)
        return (
            _whole_month(year, month)
            if day is None
            else _days(datetime(year, month, int(day), tzinfo=UTC), 1)
        )
    return None


def _whole_month(year: int, month: int) -> Span:
    first = datetime(year, month, 1, tzinfo=UTC)
    after = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
    return _ms(first), _ms(after) - 1


def _days(first: datetime, count: int) -> Span:
    return _ms(first), _ms(first + timedelta(count)) - 1


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
