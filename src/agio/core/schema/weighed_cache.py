"""A cache bounded by the memory its values take: what one tenant fills it with must not grow the process."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
_ENTRY_BYTES = 1024
"""What an entry takes beside its value."""


class WeighedCache(Generic[K, V]):
    """Keeps the most recently used values of a function, up to a number of bytes. Usable from every thread."""

    def __init__(self, make: Callable[[K], V], weigh: Callable[[V], int], limit_bytes: int) -> None:
        self._make = make
        self._weigh = weigh
        self._limit_bytes = limit_bytes
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = Lock()
        self.size_bytes = 0

    def __call__(self, key: K) -> V:
        """Return the value for a key. Raises what the function raises; that is not kept."""
        with self._lock:
            if (known := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
                return known[0]
        value = self._make(key)
        weight = _ENTRY_BYTES + self._weigh(value)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = value, weight
                self.size_bytes += weight
            while self.size_bytes > self._limit_bytes and len(self._kept) > 1:
                self.size_bytes -= self._kept.popitem(last=False)[1][1]
        return value
