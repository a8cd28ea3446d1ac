"""Host and Origin checks: requests for a foreign host name, or made by another site's page, are refused.

Our own pages have our scheme, name and port. Behind a proxy that terminates TLS these are the public URL's.
"""

import ipaddress
from collections.abc import Collection, Iterable
from typing import TypeAlias
from urllib.parse import urlsplit

from agio.errors import UserError

Headers: TypeAlias = Iterable[tuple[bytes, bytes]]

LOOPBACK_NAMES = frozenset({"localhost"})
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
WEBSOCKET = "WEBSOCKET"
"""The method of a WebSocket's handshake, as `check_origin` knows it."""

_OWN_SITE = (b"same-origin", b"none")
_USUAL_PORT = {"http": ":80", "https": ":443"}
_CACHE_ENTRIES = 4096


class Origins:
    """The names and origins of this server.

    `hosts` are allowed names beside loopback and plain addresses; a foreign name that resolves to us is DNS
    rebinding. Behind TLS without a public URL every name is allowed, because the right one is unknown.
    """

    def __init__(
        self, hosts: Collection[str] = (), *, public_url: str | None = None, behind_tls: bool = False
    ) -> None:
        public = urlsplit(public_url or "").hostname
        self._public = None if public_url is None else public_url.encode()
        self._behind_tls = behind_tls
        self._any_host = behind_tls and public_url is None
        self._hosts = LOOPBACK_NAMES | {host.lower().rstrip(".") for host in (*hosts, public or "localhost")}
        self._good_hosts: set[bytes] = set()

    @property
    def secure(self) -> bool:
        """Whether browsers reach us over TLS only."""
        return self._behind_tls or (self._public or b"").startswith(b"https:")

    @property
    def public_url(self) -> str | None:
        """The public URL; None: it is not configured."""
        return None if self._public is None else self._public.decode()

    def base_url(self, headers: Headers) -> str:
        """Return the public URL, or else the address this request was sent to."""
        if self._public is not None:
            return self._public.decode()
        host = next((value for name, value in headers if name == b"host"), b"").decode("latin-1")
        secure = self._behind_tls and not _is_near(_host_name(host))
        return f"{'https' if secure else 'http'}://{host}"

    def check_host(self, headers: Headers) -> None:
        """Raise UserError `forbidden_host` if the Host header names another host."""
        host = next((value for name, value in headers if name == b"host"), b"")
        if self._any_host or host in self._good_hosts:
            return
        name = _host_name(host.decode("latin-1"))
        if name not in self._hosts and not _is_address(name):
            raise UserError(
                "forbidden_host",
                f"The Host {name or '(empty)'} is not an address of this server. To allow it, start with --public-url.",
            )
        if len(self._good_hosts) < _CACHE_ENTRIES:
            self._good_hosts.add(host)

    def check_origin(self, method: str, headers: Headers) -> None:
        """Raise UserError `forbidden_origin` for a request that another site's page made.

        It applies to every change made with a cookie, and to every WebSocket of a page. Both Origin and, where
        sent, Sec-Fetch-Site must be right.
        """
        if method in SAFE_METHODS:
            return
        origin = host = site = b""
        bearer = False
        for name, value in headers:
            if name == b"origin":
                origin = value
            elif name == b"host":
                host = value
            elif name == b"sec-fetch-site":
                site = value
            elif name == b"authorization":
                bearer = True
        if bearer and (method != WEBSOCKET or not origin):
            return
        own_site = not site or site in _OWN_SITE
        own_page = self._is_own(origin, host) if origin else bool(site) and method != WEBSOCKET
        if not own_site or not own_page:
            why = "the request comes from another site."
            if not origin and not site:
                why = "a request with a cookie needs the header Origin. Programs send an API key instead."
            raise UserError("forbidden_origin", f"Blocked: {why}")

    def _is_own(self, origin: bytes, host: bytes) -> bool:
        origin = origin.lower()
        if self._public is not None and origin == self._public:
            return True
        name = host.decode("latin-1").lower()
        near = _is_near(_host_name(name))
        if not name or (self._behind_tls and self._public is not None and not near):
            return False
        scheme = "https" if self._behind_tls and not near else "http"
        return origin == f"{scheme}://{name.removesuffix(_USUAL_PORT[scheme])}".encode("latin-1")


def _host_name(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower().rstrip(".")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_near(name: str) -> bool:
    return name in LOOPBACK_NAMES or (_is_address(name) and ipaddress.ip_address(name).is_loopback)
