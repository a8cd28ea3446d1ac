"""The built-in tools, and those of connected workers."""

from fastapi.responses import Response
from msgspec import convert

from agio.core.link.link import ToolOffer
from agio.gateway.gateway import Gateway
from agio.gateway.http.route import Call, answer
from agio.gateway.routes.tools.views import Tools, ToolView
from agio.gateway.tools.offers import offer_tools
from agio.tools.registry import UNLISTED


def known_tools(gateway: Gateway, tenant: str) -> dict[str, ToolOffer]:
    """Return the built-in tools and those of a tenant's workers, by name; also those of the demo agent."""
    return gateway.pool.tools_for(tenant) | offer_tools(gateway.tools)


async def list_tools(call: Call) -> Response:
    """List the available tools."""
    known = known_tools(call.gateway, call.who.tenant)
    offers = [known[name] for name in sorted(known) if name not in UNLISTED]
    return answer(Tools([convert(offer, ToolView, from_attributes=True) for offer in offers]))
