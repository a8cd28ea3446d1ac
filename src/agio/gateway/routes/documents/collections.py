"""Collections: list, add, get, rename, delete."""

from typing import Annotated, Self

from fastapi.responses import Response
from pydantic import ConfigDict, Field, model_validator

from agio.errors import UserError
from agio.gateway.http.query import After, Id, Limit
from agio.gateway.http.route import Call, answer, check_permission
from agio.gateway.routes.body import Body, any_given
from agio.gateway.routes.documents.views import Collections, collection_view


class CollectionBody(Body):
    """A collection to add."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    description: Annotated[str, Field(max_length=2000)] = ""
    own: bool = False
    """True: only the caller sees it; false: it is the team's, which needs the permission `build`."""


class CollectionChangeBody(Body):
    """The fields of a collection to change."""

    model_config = ConfigDict(json_schema_extra=any_given(name="string", description="string"))

    name: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    description: Annotated[str, Field(max_length=2000)] | None = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.name is None and self.description is None:
            raise ValueError("send a field to change")
        return self


async def list_collections(call: Call, after: After = None, limit: Limit = 50) -> Response:
    """List the team's collections and the caller's own, by name."""
    who = call.who
    page = await call.gateway.store.list_collections(who.tenant, who.user, after=after, limit=limit)
    return answer(Collections([collection_view(each) for each in page.items], page.next))


async def create_collection(call: Call, body: CollectionBody) -> Response:
    """Add a collection."""
    who = call.who
    made = await call.gateway.store.create_collection(
        who.tenant, who.user, body.name, body.description, own=body.own, team=may_build(call)
    )
    return answer(collection_view(made), 201)


async def get_collection(call: Call, collection_id: Id) -> Response:
    """Get a collection."""
    found = await call.gateway.store.get_collection(call.who.tenant, call.who.user, collection_id)
    return answer(collection_view(found))


async def change_collection(call: Call, collection_id: Id, body: CollectionChangeBody) -> Response:
    """Rename a collection."""
    who = call.who
    changed = await call.gateway.store.change_collection(
        who.tenant, who.user, collection_id, body.name, body.description, team=may_build(call)
    )
    return answer(collection_view(changed))


async def delete_collection(call: Call, collection_id: Id) -> Response:
    """Delete a collection with its documents. Nothing of them stays."""
    who = call.who
    await call.gateway.store.delete_collection(who.tenant, who.user, collection_id, team=may_build(call))
    return Response(status_code=204)


def may_build(call: Call) -> bool:
    """Whether the caller may change what the team has."""
    try:
        check_permission(call.who, "build")
    except UserError:
        return False
    return True
