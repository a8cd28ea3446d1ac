"""Tools an agent may be given: the gateway's own, and those its workers' module defines."""

from fastapi.responses import Response
from msgspec import convert

from agio.core.link.link import ToolOffer
from agio.gateway.gateway import Gateway
from agio.gateway.http.route import Call, answer
from agio.gateway.routes.views import Tools, ToolView
from agio.gateway.tools.offers import offer_tools


def known_tools(gateway: Gateway, tenant: str) -> dict[str, ToolOffer]:
    """Return the tools there are now for a tenant, by name."""
    return gateway.pool.tools_for(tenant) | offer_tools(gateway.tools)


async def list_tools(call: Call) -> Response:
    """List the tools agents may be given."""
    offers = sorted(known_tools(call.gateway, call.who.tenant).values(), key=lambda offer: offer.name)
    return answer(Tools([convert(offer, ToolView, from_attributes=True) for offer in offers]))
