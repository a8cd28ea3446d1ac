"""The guarded HTTP client: all requests to addresses that a user can influence go through it.

On every hop it connects only to addresses that it resolved and checked itself (DESIGN.md, section 8). It is below
drivers, tools and gateway, which receive an `Egress` from server/composition.py.
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
