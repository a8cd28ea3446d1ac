"""Opaque ids that sort by creation time: `run_01k9...`, 26 characters after the prefix."""

import os
import time

_PREFIXES = {"run", "call", "msg", "rsn", "res", "int", "thr"}
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]


def new_id(prefix: str) -> str:
    """Make an id: 48 bits of milliseconds, then 80 random bits, in lower-case Crockford base 32."""
    number = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10))
    digits = [_PAIRS[(number >> shift) & 1023] for shift in range(120, -1, -10)]
    return f"{prefix}_{''.join(digits)}"


def id_body(identifier: str) -> str:
    """Return an id without agio's prefix. Ids made for one run share the rest."""
    prefix, _, body = identifier.partition("_")
    return body if body and prefix in _PREFIXES else identifier
