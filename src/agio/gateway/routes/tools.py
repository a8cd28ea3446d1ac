"""Tools an agent may be given: the gateway's own, and those its workers' module defines."""

from fastapi.responses import Response
from msgspec import convert

from agio.core.link import ToolOffer
from agio.gateway.gateway import Gateway
from agio.gateway.offers import offer_tools
from agio.gateway.routes.route import Call, answer
from agio.gateway.routes.views import Tools, ToolView


def known_tools(gateway: Gateway) -> dict[str, ToolOffer]:
    """Return the tools there are now, by name."""
    known: dict[str, ToolOffer] = {}
    for seat in gateway.link.workers.seats.values():
        known |= seat.tools
    return known | offer_tools(gateway.tools)


async def list_tools(call: Call) -> Response:
    """List the tools agents may be given."""
    offers = sorted(known_tools(call.gateway).values(), key=lambda offer: offer.name)
    return answer(Tools([convert(offer, ToolView, from_attributes=True) for offer in offers]))
