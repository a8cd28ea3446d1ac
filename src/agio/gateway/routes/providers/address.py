"""Whether the server would call the address of a model provider: asked while it is typed.

It reveals no more than testing the provider does, and needs the same permission: `build`.
"""

import asyncio
from ipaddress import ip_network
from typing import Literal

from fastapi.responses import Response
from msgspec import Struct

from agio.core.url import bracketed
from agio.egress import Egress, Target, parse_target
from agio.errors import UpstreamError, UserError
from agio.gateway.http.route import Call, answer
from agio.gateway.routes.providers.bodies import AddressBody

_LOOK_UP_S = 2.0
_NEAR = (".localhost", ".local", ".internal", ".lan", ".home", ".home.arpa")
"""Suffixes of names in a private network."""

_CLOUD_NAMES = ("metadata", "instance-data")
_CLOUD_V6 = ip_network("fd00:ec2::/32")
_ADVISED = [
    ip_network(net)
    for net in ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7")
]


class AddressCheck(Struct, frozen=True, kw_only=True):
    """Whether the server may call an address. Only names of the server's own network are resolved."""

    state: Literal["allowed", "refused", "unknown"]
    setting: str | None = None
    """What the operator adds to the environment of the server to have it called; null if nothing is missing."""


async def check_address(call: Call, body: AddressBody) -> Response:
    """Check whether the server may call a base URL; if not, return the setting that allows it."""
    target = read_base_url(body.base_url)
    call.gateway.rates.take("tool", call.who.credential, f"{call.who.tenant}/{call.who.user}")
    state = await _state(call.gateway.egress, target)
    needed = state != "allowed" and (target.address is not None or _is_near(target.host))
    return answer(AddressCheck(state=state, setting=_setting(target) if needed else None))


def read_base_url(base_url: str) -> Target:
    """Take a base URL apart. Raises UserError `invalid_base_url`."""
    if "?" in base_url or "#" in base_url:
        raise _invalid_url("it has a query or a fragment")
    try:
        return parse_target(base_url)
    except UserError as error:
        raise _invalid_url(str(error.details["rule"])) from error


async def _state(egress: Egress, target: Target) -> Literal["allowed", "refused", "unknown"]:
    if target.address is None and not _is_near(target.host):
        return "unknown"
    try:
        async with asyncio.timeout(_LOOK_UP_S):
            await egress.addresses(target.host, target.port)
    except UserError:
        return "refused"
    except (UpstreamError, TimeoutError):
        return "unknown"
    return "allowed"


def _is_near(host: str) -> bool:
    return "." not in host or host.endswith(_NEAR)


def _setting(target: Target) -> str | None:
    """The line that opens an address; None for what is not meant to serve models, as where clouds keep keys."""
    if target.address is None:
        if target.host.partition(".")[0] in _CLOUD_NAMES:
            return None
    elif not any(target.address in net for net in _ADVISED) or target.address in _CLOUD_V6:
        return None
    return f"AGIO_EGRESS_ALLOW={bracketed(target.host)}:{target.port}"


def _invalid_url(rule: str) -> UserError:
    return UserError(
        "invalid_base_url",
        f"The base URL cannot be used: {rule}. It looks like https://api.example.com/v1.",
        {"rule": rule},
    )
