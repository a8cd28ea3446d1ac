"""What a driver keeps of a turn that it says nothing of: signatures, encrypted reasoning, names. Bounded."""

from agio.errors import LimitExceeded
from agio.protocol.codec import encode
from agio.protocol.messages import Json

LIMIT_BYTES = 16 * 1024 * 1024
_ENTRY_BYTES = 256
"""What a value takes besides its text."""


class Kept:
    """Counts it: the engine counts what a driver says."""

    def __init__(self) -> None:
        self._size_bytes = 0

    def add(self, value: Json) -> None:
        """Count one more value. Raises LimitExceeded `turn_too_large`."""
        self._size_bytes += _ENTRY_BYTES + len(encode(value))
        if self._size_bytes > LIMIT_BYTES:
            raise LimitExceeded(
                "turn_too_large",
                f"The model's turn has more than {LIMIT_BYTES} bytes that only its vendor can read.",
            )
