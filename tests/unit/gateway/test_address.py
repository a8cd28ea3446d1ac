"""Where a request comes from, and who may say so."""

from collections.abc import Sequence
from ipaddress import ip_network

import pytest

from agio.gateway.http.address import Addresses, is_loopback, network_of

PROXIES = [ip_network("127.0.0.1"), ip_network("10.0.0.0/8"), ip_network("fd00::/8")]


def _seen(peer: str | None, *forwarded: str, proxies: Sequence[object] = PROXIES) -> str:
    addresses = Addresses(list(proxies))  # pyright: ignore[reportArgumentType]
    return addresses.client_of(
        {
            "client": None if peer is None else (peer, 4000),
            "headers": [(b"x-forwarded-for", value.encode("latin-1")) for value in forwarded],
        }
    )


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("203.0.113.9", ["198.51.100.1"], "203.0.113.9"),
        ("203.0.113.9", ["127.0.0.1"], "203.0.113.9"),
        ("2001:db8::9", ["127.0.0.1"], "2001:db8::9"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["198.51.100.1:5000"], "198.51.100.1"),
        ("10.0.0.1", ["[2001:db8::7]:443"], "2001:db8::7"),
        ("10.0.0.1", ["2001:DB8::7"], "2001:db8::7"),
        ("fd00::1", ["198.51.100.1"], "198.51.100.1"),
        ("::ffff:10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["::ffff:198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["127.0.0.1, 198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["203.0.113.1, 198.51.100.1, 10.2.3.4"], "198.51.100.1"),
        ("10.0.0.1", ["203.0.113.1", "198.51.100.1", "10.2.3.4"], "198.51.100.1"),
        ("10.0.0.1", ["10.9.9.9, 10.8.8.8"], "10.9.9.9"),
        ("10.0.0.1", ["198.51.100.1, nonsense"], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.1, 10.1.1.1, unknown"], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.1, 10.1.1.1, "], "10.0.0.1"),
        ("10.0.0.1", ["unknown, 10.1.1.1"], "10.1.1.1"),
        ("10.0.0.1", ["1.2.3.4.5"], "10.0.0.1"),
        ("10.0.0.1", ["0x7f.1"], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.1\xa0"], "198.51.100.1"),
        ("10.0.0.1", ["9.9.9.9, " * 5000 + "198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["198.51.100.1" + ", 10.1.1.1" * 200], "10.1.1.1"),
        (None, ["198.51.100.1"], ""),
    ],
)
def test_only_a_trusted_proxy_says_who_the_client_is(
    peer: str | None, forwarded: list[str], client: str
) -> None:
    """S14: the nearest hop that is none of our proxies; what it says of others is not believed."""
    assert _seen(peer, *forwarded) == client


def test_without_a_trusted_proxy_nobody_says_anything() -> None:
    """S14: not even this machine."""
    assert _seen("127.0.0.1", "198.51.100.1", proxies=[]) == "127.0.0.1"


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("not:an:address", "not:an:address"),
        ("", ""),
    ],
)
def test_what_an_address_is_counted_by(address: str, network: str) -> None:
    """S14: an IPv6 customer has a /64 at least."""
    assert network_of(address) == network


def test_what_is_this_machine() -> None:
    """S13: also in IPv6's clothes."""
    assert [is_loopback(text) for text in ("127.9.9.9", "::1", "::ffff:127.0.0.1")] == [True] * 3
    assert [is_loopback(text) for text in ("10.0.0.1", "0.0.0.0", "localhost", "")] == [False] * 4
