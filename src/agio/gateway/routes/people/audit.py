"""The audit log, for the owners of a team."""

from fastapi.responses import Response
from msgspec import Struct

from agio.gateway.http.query import After, Filter, Limit
from agio.gateway.http.route import Call, answer
from agio.protocol.messages import Json


class AuditEntryView(Struct, frozen=True, kw_only=True):
    """Who did what, when, to which object. `user` is empty for the operator at the command line."""

    number: int
    at: int
    user: str
    credential: str
    """The id of the API key or web session; `cli` for the operator, `retention` for what time did."""
    address: str
    request_id: str
    """As the server's log has it."""
    action: str
    """Such as `agent.create`."""
    object: str
    """The id of what was changed."""
    details: dict[str, Json]
    """What changed: names of fields and small facts, no content."""


class AuditEntries(Struct, frozen=True):
    """The team's entries, newest first."""

    items: list[AuditEntryView]
    next: str | None


async def list_audit(
    call: Call, action: Filter = None, user: Filter = None, after: After = None, limit: Limit = 50
) -> Response:
    """List the team's audit log, newest first, optionally by `action` or `user`. For owners."""
    page = await call.gateway.store.list_audit(
        call.who.tenant, action=action, user=user, after=after, limit=limit
    )
    return answer({"items": page.items, "next": page.next})
