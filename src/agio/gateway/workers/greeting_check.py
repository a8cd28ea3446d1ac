"""Bounds on what a worker says of itself: the gateway keeps, compares and offers it while the worker is connected."""

import msgspec

from agio.core.link.link import Greeting
from agio.errors import UserError

ID_BYTES = 256
MAX_ROOM = 1000
"""The most runs a worker gets at once; a greeting with more room is cut to this."""
MAX_AGENTS = 200
MAX_TOOLS = 1000
MAX_PROVIDERS = 200
GREETING_BYTES = 2 * 1024 * 1024


def check_greeting(greeting: Greeting) -> None:
    """Raise UserError `invalid_greeting` for a greeting that exceeds a bound."""
    if not 0 < len(greeting.worker.encode()) <= ID_BYTES:
        raise UserError("invalid_greeting", f"A worker's id has 1 to {ID_BYTES} bytes.")
    for what, given, most in (
        ("agents", greeting.agents, MAX_AGENTS),
        ("tools", greeting.tools, MAX_TOOLS),
        ("claims", greeting.claims, MAX_ROOM),
        ("providers", greeting.providers, MAX_PROVIDERS),
    ):
        if len(given) > most:
            raise UserError("invalid_greeting", f"A worker has at most {most} {what}.", {"given": len(given)})
    if len(msgspec.msgpack.encode(greeting)) > GREETING_BYTES:
        raise UserError("invalid_greeting", f"A greeting has at most {GREETING_BYTES} bytes.")
