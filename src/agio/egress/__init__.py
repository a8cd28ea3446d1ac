"""The one guarded HTTP client: every address that a user can influence is called through it, or not at all.

It connects only to addresses that it resolved and checked itself, on every hop (DESIGN.md, section 8). Below
drivers, tools and gateway, which are given an `Egress` by server/composition.py.
"""

from agio.egress.address import Address, is_public
from agio.egress.client import Egress, EgressRequest, EgressResponse
from agio.egress.headers import header_problem
from agio.egress.resolver import Resolver
from agio.egress.target import Target, parse_target

__all__ = [
    "Address",
    "Egress",
    "EgressRequest",
    "EgressResponse",
    "Resolver",
    "Target",
    "header_problem",
    "is_public",
    "parse_target",
]
