"""Bounds the parts of a turn that a driver keeps but does not emit: signatures, encrypted reasoning, names."""

from agio.errors import LimitExceeded
from agio.protocol.codec import encode
from agio.protocol.messages import Json

LIMIT_BYTES = 16 * 1024 * 1024
_ENTRY_BYTES = 256
"""The overhead of a value besides its text."""


class Kept:
    """Counts the kept bytes; the engine counts the emitted events."""

    def __init__(self) -> None:
        self._size_bytes = 0

    def add(self, value: Json) -> None:
        """Count a value. Raises LimitExceeded `turn_too_large`."""
        self._size_bytes += _ENTRY_BYTES + len(encode(value))
        if self._size_bytes > LIMIT_BYTES:
            raise LimitExceeded(
                "turn_too_large",
                f"The model's turn has more than {LIMIT_BYTES} bytes that only its vendor can read.",
            )
