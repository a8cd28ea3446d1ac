"""Splits and checks URLs that an operator writes. Callers raise their own errors.

URLs that users write go through egress/target.py, which refuses URLs that two parsers could read differently.
"""

from urllib.parse import SplitResult, urlsplit

DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}


def split_url(url: str, *schemes: str) -> SplitResult:
    """Split a URL with one of these schemes, a host, and no port or one from 0 to 65535. Raises ValueError."""
    parts = urlsplit(url)
    if parts.scheme not in schemes or not parts.hostname:
        raise ValueError("it needs a scheme and a host")
    _ = parts.port  # raises ValueError
    return parts


def bracketed(host: str) -> str:
    """Return a host in URL syntax: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host


def with_port(scheme: str, host: str, port: int | None) -> str:
    """Return the value of a Host header: the port is omitted if it is the scheme's default."""
    name = bracketed(host)
    return name if port in (None, DEFAULT_PORTS[scheme]) else f"{name}:{port}"
