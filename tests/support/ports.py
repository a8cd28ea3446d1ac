"""Ports for servers that must be told theirs, or come back to the one they had."""

import errno
import random
import socket

_FIRST, _LAST = 20_000, 32_000
"""Below those the system gives to whoever wants just any, which would be gone before the server listens."""


def free_port() -> int:
    """Return a port of this machine that nobody has."""
    while True:
        port = random.randrange(_FIRST, _LAST)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError as taken:
            if taken.errno != errno.EADDRINUSE:
                raise
