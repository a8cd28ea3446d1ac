"""Resolves names with the system resolver, in a dedicated thread pool."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address
from typing import TypeAlias

from agio.egress.address import Address

Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[Address]]]
"""Returns the addresses of a host, for a port. Raises OSError if there are none."""

_THREADS = 32


class SystemResolver:
    """Calls the system resolver. A slow name server blocks only threads of this pool."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None

    async def __call__(self, host: str, port: int) -> Sequence[Address]:
        """Resolve a host. Raises OSError."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="agio-dns")
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._threads, _look_up, host, port)
        return [ip_address(each) for each in found]

    def close(self) -> None:
        """Shut the thread pool down."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None


def _look_up(host: str, port: int) -> list[str]:
    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise OSError("it is no name") from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))
