"""The audit log: an entry beside each change that somebody makes, and its reader."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar, cast

import msgspec
from msgspec import Struct, structs

from agio.core.store.audit import Actor, AuditEntry
from agio.core.store.records import Page
from agio.db.cursors import page_of, page_size, read_cursor
from agio.db.plan import Plan, ask
from agio.db.plans.runs.log import BEYOND_ALL
from agio.db.records import now_ms
from agio.db.rows import by_name

T = TypeVar("T")
Values: TypeAlias = Mapping[str, object]
"""What a change was asked with, by name; `before` is how things were, `result` what came of it."""
Details: TypeAlias = dict[str, object]


class Note(Struct, frozen=True, kw_only=True):
    """What an entry says, but for who acts: `user` and `credential` are for those who were nobody before."""

    tenant: str
    target: str
    details: Details = {}
    user: str | None = None
    credential: str | None = None


class Told(Struct, frozen=True, kw_only=True):
    """How a change is told. What is said is a path into the Values: `agent_id`, `key.name`, `result.id`."""

    target: str
    facts: Mapping[str, str] = {}
    """What else is told, by name: no secret, no content, nobody's e-mail address."""
    tenant: str = "tenant"
    """A path, or a tenant's own id behind `=`."""
    user: str | None = None
    credential: str | None = None
    before: Callable[[Values], Plan[object]] | None = None
    compare: bool = False
    """Whether the names of the fields that are not as `before` are told."""
    sealed: Callable[[Values], Iterable[str]] | None = None
    """The fields of the secrets that were entered anew: how they were before, nobody can see."""
    when: Callable[[Values], bool] | None = None
    """Whether there is anything to tell."""
    notes: Callable[[Values], Plan[Sequence[Note]]] | None = None
    """Instead of all this."""


def audited(action: str, told: Told, actor: Actor, values: Values, make: Callable[[], Plan[T]]) -> Plan[T]:
    """Make a change and, if it is made, tell of it in the same transaction."""
    if told.before is not None:
        values = {**values, "before": (yield from told.before(values))}
    result = yield from make()
    values = {**values, "result": result}
    if told.when is not None and not told.when(values):
        return result
    notes = [_note(told, actor, values)] if told.notes is None else (yield from told.notes(values))
    for note in notes:
        yield from _add(action, actor, note)
    return result


def note_failed_sign_in(account_id: str) -> Plan[None]:
    """Change nothing: that somebody failed to sign in to an account is told to its teams, and that is all."""
    yield from ()


def list_audit(
    tenant: str,
    *,
    action: str | None = None,
    user: str | None = None,
    after: str | None = None,
    limit: int = 50,
) -> Plan[Page[AuditEntry]]:
    """A tenant's entries, newest first. Raises UserError `invalid_cursor`."""
    before = BEYOND_ALL if after is None else read_cursor(after, tuple[int])[0]
    rows = yield from ask(
        "list_audit", tenant=tenant, action=action, user_id=user, before=before, limit=page_size(limit) + 1
    )
    return page_of([_entry(row) for row in rows], limit, lambda entry: entry, lambda entry: [entry.number])


def look(path: str, values: Values) -> object:
    """Return what a path leads to: a value, or a field of one. A part that is not there is None."""
    name, *rest = path.split(".")
    found = values.get(name)
    for part in rest:
        found = getattr(found, part, None)
    return found


def _note(told: Told, actor: Actor, values: Values) -> Note:
    tenant = told.tenant[1:] if told.tenant.startswith("=") else look(told.tenant, values)
    details = {name: look(path, values) for name, path in told.facts.items()}
    details = {name: value for name, value in details.items() if value is not None}
    if told.compare:
        details["changed"] = _changed(values["before"], values["result"])
    if told.sealed is not None and (fields := sorted(told.sealed(values))):
        details["secrets"] = fields
    return Note(
        tenant=str(tenant or actor.tenant),
        target=str(look(told.target, values) or ""),
        details=details,
        user=None if told.user is None else str(look(told.user, values) or ""),
        credential=None if told.credential is None else str(look(told.credential, values) or ""),
    )


def _changed(before: object, after: object) -> list[str]:
    """Return the names of the fields that are not as they were."""
    if not isinstance(before, Struct) or not isinstance(after, Struct):
        return []
    was, now = structs.asdict(before), structs.asdict(after)
    return sorted(name for name in now if name != "updated_at" and now[name] != was.get(name))


def _add(action: str, actor: Actor, note: Note) -> Plan[None]:
    yield from ask(
        "add_audit",
        tenant=note.tenant,
        now=now_ms(),
        user_id=actor.user if note.user is None else note.user,
        credential=actor.credential if note.credential is None else note.credential,
        address=actor.address,
        request_id=actor.request_id,
        action=action,
        object=note.target,
        details=msgspec.json.encode(note.details, order="deterministic", enc_hook=_plain).decode(),
    )


def _plain(value: object) -> object:
    return sorted(cast("frozenset[str]", value)) if isinstance(value, frozenset) else str(value)


def _entry(row: Sequence[object]) -> AuditEntry:
    values = by_name(AuditEntry, row)
    values["details"] = msgspec.json.decode(str(values["details"]), type=dict[str, object])
    return msgspec.convert(values, AuditEntry)
