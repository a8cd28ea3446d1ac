"""The audit log: writes an entry with each audited change, and lists entries."""

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
"""The arguments of a change by name; `before` is the earlier state, `result` the outcome."""
Details: TypeAlias = dict[str, object]


class Note(Struct, frozen=True, kw_only=True):
    """An entry without its actor. `user` and `credential` replace the actor's, for a sign-in."""

    tenant: str
    target: str
    details: Details = {}
    user: str | None = None
    credential: str | None = None


class AuditRule(Struct, frozen=True, kw_only=True):
    """How a change is written to the log. Texts are paths into the Values: `agent_id`, `key.name`, `result.id`."""

    target: str
    facts: Mapping[str, str] = {}
    """Further details by name: no secret, no content, no e-mail address."""
    tenant: str = "tenant"
    """A path, or `=` and a tenant's id."""
    user: str | None = None
    credential: str | None = None
    before: Callable[[Values], Plan[object]] | None = None
    compare: bool = False
    """Whether the names of the changed fields are listed."""
    sealed: Callable[[Values], Iterable[str]] | None = None
    """The secrets that were entered again; their old values cannot be compared."""
    when: Callable[[Values], bool] | None = None
    """Whether to write an entry at all."""
    notes: Callable[[Values], Plan[Sequence[Note]]] | None = None
    """Makes the entries instead of the fields above."""


def audited(
    action: str, rule: AuditRule, actor: Actor, values: Values, make: Callable[[], Plan[T]]
) -> Plan[T]:
    """Run a change and write its audit entries in the same transaction."""
    if rule.before is not None:
        values = {**values, "before": (yield from rule.before(values))}
    result = yield from make()
    values = {**values, "result": result}
    if rule.when is not None and not rule.when(values):
        return result
    notes = [_note(rule, actor, values)] if rule.notes is None else (yield from rule.notes(values))
    for note in notes:
        yield from _add(action, actor, note)
    return result


def note_failed_sign_in(account_id: str) -> Plan[None]:
    """Change nothing: the audit entries of a failed sign-in are all there is to write."""
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
    """Resolve a path to a value or a field of it; None if a part is missing."""
    name, *rest = path.split(".")
    found = values.get(name)
    for part in rest:
        found = getattr(found, part, None)
    return found


def _note(rule: AuditRule, actor: Actor, values: Values) -> Note:
    tenant = rule.tenant[1:] if rule.tenant.startswith("=") else look(rule.tenant, values)
    details = {name: look(path, values) for name, path in rule.facts.items()}
    details = {name: value for name, value in details.items() if value is not None}
    if rule.compare:
        details["changed"] = _changed(values["before"], values["result"])
    if rule.sealed is not None and (fields := sorted(rule.sealed(values))):
        details["secrets"] = fields
    return Note(
        tenant=str(tenant or actor.tenant),
        target=str(look(rule.target, values) or ""),
        details=details,
        user=None if rule.user is None else str(look(rule.user, values) or ""),
        credential=None if rule.credential is None else str(look(rule.credential, values) or ""),
    )


def _changed(before: object, after: object) -> list[str]:
    """Return the names of the changed fields."""
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
