"""Collections of documents: of a team or a person."""

from collections.abc import Sequence

from agio.core.document import CollectionRecord
from agio.core.store.records import Page
from agio.db.cursors import page_of, page_size, read_cursor
from agio.db.plan import Plan, ask, ask_one
from agio.db.records import now_ms
from agio.db.refusals import collection_not_found
from agio.db.rows import to_struct
from agio.errors import UserError
from agio.protocol.ids import new_id


def create_collection(
    tenant: str, user: str, name: str, description: str, *, own: bool, team: bool = False
) -> Plan[CollectionRecord]:
    """Add a collection. Raises UserError `collection_exists`, `forbidden`."""
    owner = user if own else None
    _check_team(owner, team=team)
    yield from ask("lock_tenant", tenant=tenant)
    yield from _check_name(tenant, owner, name)
    collection_id = new_id("col")
    yield from ask(
        "create_collection",
        collection_id=collection_id,
        tenant=tenant,
        owner=owner,
        name=name,
        description=description,
        now=now_ms(),
    )
    return (yield from get_collection(tenant, user, collection_id))


def list_collections(
    tenant: str, user: str, *, after: str | None = None, limit: int = 50
) -> Plan[Page[CollectionRecord]]:
    """The collections that a user may see, by name. Raises UserError `invalid_cursor`."""
    name, collection_id = ("", "") if after is None else read_cursor(after, tuple[str, str])
    rows = yield from ask(
        "list_collections",
        tenant=tenant,
        user_id=user,
        name=name,
        collection_id=collection_id,
        limit=page_size(limit) + 1,
    )
    found = [to_struct(CollectionRecord, row) for row in rows]
    return page_of(found, limit, lambda each: each, lambda each: [each.name, each.id])


def get_collection(tenant: str, user: str, collection_id: str) -> Plan[CollectionRecord]:
    """Raises UserError `collection_not_found`."""
    row = yield from ask_one("get_collection", tenant=tenant, user_id=user, collection_id=collection_id)
    if row is None:
        raise collection_not_found(collection_id)
    return to_struct(CollectionRecord, row)


def collection_to_change(tenant: str, user: str, collection_id: str, *, team: bool) -> Plan[CollectionRecord]:
    """A collection whose documents the user may change. Raises UserError `collection_not_found`, `forbidden`."""
    collection = yield from get_collection(tenant, user, collection_id)
    _check_team(collection.user, team=team)
    return collection


def change_collection(
    tenant: str,
    user: str,
    collection_id: str,
    name: str | None,
    description: str | None,
    *,
    team: bool = False,
) -> Plan[CollectionRecord]:
    """Rename a collection. Raises as the port says."""
    yield from ask("lock_tenant", tenant=tenant)
    known = yield from collection_to_change(tenant, user, collection_id, team=team)
    if name is not None and name != known.name:
        yield from _check_name(tenant, known.user, name)
    yield from ask(
        "change_collection",
        collection_id=collection_id,
        tenant=tenant,
        name=known.name if name is None else name,
        description=known.description if description is None else description,
        now=now_ms(),
    )
    return (yield from get_collection(tenant, user, collection_id))


def hide_collection(tenant: str, user: str, collection_id: str, *, team: bool = False) -> Plan[None]:
    """The first step of a deletion: nothing finds the collection after it."""
    yield from collection_to_change(tenant, user, collection_id, team=team)
    yield from ask("hide_collection", tenant=tenant, collection_id=collection_id, now=now_ms())


def documents_of_collection(tenant: str, collection_id: str, limit: int) -> Plan[list[str]]:
    """The documents of a collection that is being deleted."""
    rows = yield from ask("documents_of_collection", tenant=tenant, collection_id=collection_id, limit=limit)
    return [str(row[0]) for row in rows]


def drop_collection(tenant: str, collection_id: str) -> Plan[None]:
    """The last step of a deletion."""
    yield from ask("drop_collection", tenant=tenant, collection_id=collection_id)


def visible_collections(tenant: str, user: str, collection_ids: Sequence[str]) -> Plan[list[str]]:
    """Those of the collections that the user may see."""
    if not collection_ids:
        return []
    rows = yield from ask("visible_collections", tenant=tenant, user_id=user, ids=list(collection_ids))
    return [str(row[0]) for row in rows]


def _check_name(tenant: str, owner: str | None, name: str) -> Plan[None]:
    if (yield from ask_one("collection_by_name", tenant=tenant, owner=owner, name=name)) is not None:
        raise UserError(
            "collection_exists", f"There is a collection {name}. Choose another name.", {"name": name}
        )


def _check_team(owner: str | None, *, team: bool) -> None:
    if owner is None and not team:
        raise UserError("forbidden", "Only people who may build agents change the team's collections.")
