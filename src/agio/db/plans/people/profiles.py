"""Profiles of users: named text fields, written by users and by agents."""

import re

import msgspec

from agio.core.profile import Profile
from agio.db.plan import Plan, Row, ask, ask_one
from agio.db.records import encode_json, now_ms
from agio.errors import StoreError, UserError

MAX_FIELDS = 50
MAX_CHARS = 2000
MAX_BYTES = 32 * 1024
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


def get_profile(tenant: str, user: str) -> Plan[Profile]:
    """A user's profile; empty if none is stored."""
    row = yield from ask_one("get_profile", tenant=tenant, user_id=user)
    return Profile({}, 0, None) if row is None else _profile(row)


def put_profile(tenant: str, user: str, changes: dict[str, str | None]) -> Plan[Profile]:
    """Set these fields of a user's profile; None removes one. Raises UserError `invalid_profile`."""
    who = {"tenant": tenant, "user_id": user}
    now = now_ms()
    yield from ask("add_profile", profile=b"{}", now=now, **who)
    row = yield from ask_one("lock_profile", **who)
    if row is None:
        raise StoreError("not_storable", f"The profile of {user} was deleted while it was written.")
    before = _profile(row)
    fields = {**before.fields, **changes}
    kept = {name: value for name, value in fields.items() if value is not None}
    _check(changes, kept)
    blob = encode_json("profile", kept)
    if len(blob) > MAX_BYTES:
        raise _invalid(f"it would be {len(blob)} bytes, and {MAX_BYTES} are allowed")
    if kept == before.fields:
        return before
    yield from ask("change_profile", profile=blob, version=before.version + 1, now=now, **who)
    return Profile(kept, before.version + 1, now)


def _check(changes: dict[str, str | None], kept: dict[str, str]) -> None:
    for name, value in changes.items():
        if not _NAME.fullmatch(name):
            raise _invalid(
                f"{name[:80]!r} is not a valid field name: use up to 64 of a-z, 0-9 and _, starting with a letter"
            )
        if value is not None and len(value) > MAX_CHARS:
            raise _invalid(f"{name} has {len(value)} characters, and {MAX_CHARS} are allowed")
    if len(kept) > MAX_FIELDS:
        raise _invalid(f"it would have {len(kept)} fields, and {MAX_FIELDS} are allowed")


def _profile(row: Row) -> Profile:
    blob, version, updated_at = msgspec.convert(row, tuple[bytes, int, int])
    return Profile(msgspec.json.decode(blob, type=dict[str, str]), version, updated_at if version else None)


def _invalid(why: str) -> UserError:
    return UserError("invalid_profile", f"The profile cannot be changed like this: {why}.")
