"""Strict URL parsing: refuses URLs that two parsers could read differently."""

import re
import unicodedata
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from urllib.parse import quote, urljoin

from msgspec import Struct

from agio.core.url import DEFAULT_PORTS, with_port
from agio.egress.address import Address
from agio.errors import UserError

_URL = re.compile(r"(https?)://([^/?#]*)([^?#]*)(\?[^#]*)?(?:#.*)?", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_BRACKETED = re.compile(r"\[([0-9A-Fa-f:.]+)\](?::(.*))?")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_IPV4 = re.compile(r"(0|[1-9][0-9]{0,2})(\.(0|[1-9][0-9]{0,2})){3}")
_DOTS = "\u3002\uff0e\uff61"
"""Characters that IDNA treats as a dot."""
_SAFE = "/:@!$&'()*+,;=%-._~?"
_URL_CHARS = 8192


class Target(Struct, frozen=True):
    """A parsed URL. `host` is an ASCII name, or an address in Python's notation."""

    scheme: str
    host: str
    port: int
    path: str
    """The path with its query."""
    address: Address | None = None
    """The host, if it is an address."""

    @property
    def authority(self) -> str:
        """Host and port, as in the Host header."""
        return with_port(self.scheme, self.host, self.port)

    @property
    def url(self) -> str:
        """The normalised URL."""
        return f"{self.scheme}://{self.authority}{self.path}"

    def same_origin(self, other: "Target") -> bool:
        """Whether this target may receive secrets meant for `other`: the same origin, or its upgrade to TLS."""
        if (self.scheme, self.host, self.port) == (other.scheme, other.host, other.port):
            return True
        return self.host == other.host and (self.port, other.port) == (443, 80) and self.scheme == "https"


def refused(rule: str, advice: str = "") -> UserError:
    """Return the error for a refused address, with the rule it breaks."""
    return UserError("egress_refused", f"Blocked: {rule}.{advice}", {"rule": rule})


def parse_target(url: str) -> Target:
    """Split a URL. Raises UserError `egress_refused`."""
    _check_characters(url)
    found = _URL.fullmatch(url)
    if found is None:
        raise refused("only complete http and https URLs are allowed")
    scheme, authority, path, query = found[1].lower(), found[2], found[3], found[4] or ""
    if "@" in authority:
        raise refused("it has a user name before its host")
    host, address, port = _split_authority(authority)
    return Target(
        scheme=scheme,
        host=host,
        port=DEFAULT_PORTS[scheme] if port is None else _port(port),
        path=quote(path or "/", safe=_SAFE) + quote(query, safe=_SAFE),
        address=address,
    )


def join_target(base: Target, location: str) -> Target:
    """Resolve a redirect. Raises UserError `egress_refused`."""
    _check_characters(location)
    if _SCHEME.match(location):
        return parse_target(location)
    if location.startswith("//"):
        return parse_target(f"{base.scheme}:{location}")
    return parse_target(urljoin(base.url, location))


def parse_host(host: str) -> tuple[str, Address | None]:
    """Parse a host name or IPv4 address. Raises UserError `egress_refused`."""
    name = host.lower() if host.isascii() else _to_ascii(host)
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        if not _IPV4.fullmatch(name):
            raise refused("its host is a number but not a plain IPv4 address")
        try:
            return name, IPv4Address(name)
        except AddressValueError:
            raise refused("its host is a number but not a plain IPv4 address") from None
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise refused("its host is not a valid host name")
    return name, None


def _check_characters(url: str) -> None:
    if len(url) > _URL_CHARS:
        raise refused(f"it is longer than {_URL_CHARS} characters")
    if "\\" in url:
        raise refused("it has a backslash")
    if not url.isprintable() or any(char.isspace() for char in url):
        raise refused("it has white space or control characters")


def _split_authority(authority: str) -> tuple[str, Address | None, str | None]:
    if authority.startswith("["):
        found = _BRACKETED.fullmatch(authority)
        try:
            address = IPv6Address(found[1] if found else "")
        except AddressValueError:
            raise refused("its host is not a plain IPv6 address") from None
        return str(address), address, found[2] if found else None
    host, colon, port = authority.partition(":")
    if not host:
        raise refused("it has no host")
    name, address = parse_host(host)
    return name, address, port if colon else None


def _port(text: str) -> int:
    if not _PORT.fullmatch(text) or int(text) > 65535:
        raise refused("its port is not a number from 1 to 65535")
    return int(text)


def _to_ascii(host: str) -> str:
    import idna

    written, host = host, unicodedata.normalize("NFC", host)
    if any(char in _DOTS or (char.isnumeric() and not char.isascii()) for char in host):
        raise refused("its host has characters that some read as dots or digits")
    grown = sum(map(str.isascii, host)) > sum(map(str.isascii, written))
    if grown or unicodedata.normalize("NFKC", host) != host:
        raise refused("its host has characters that some read as others")
    try:
        return idna.encode(host.lower(), std3_rules=True).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        raise refused("its host is not a valid host name") from None
