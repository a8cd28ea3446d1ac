"""Which addresses are public: globally routable unicast, except ranges that map to other addresses."""

import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address

_NOT_PUBLIC_V4 = tuple(
    IPv4Network(net)
    for net in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",
        "100.64.0.0/10",  # carriers' NAT
        "127.0.0.0/8",
        "168.63.129.16/32",  # Azure's host services: a public address that never leaves the host
        "169.254.0.0/16",  # link-local, metadata services
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)
_UNICAST_V6 = IPv6Network("2000::/3")
"""All allocated unicast. Loopback, mapped, NAT64, ULA, link-local and site-local are outside it."""
_NOT_PUBLIC_V6 = tuple(
    IPv6Network(net)
    for net in (
        "2001::/23",  # protocol assignments: Teredo, benchmarks, ORCHID
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: an IPv4 address inside
        "3ffe::/16",  # the old test network
        "3fff::/20",  # documentation
    )
)
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)


def is_public(address: Address) -> bool:
    """Whether an address is reachable from the whole internet."""
    if isinstance(address, IPv4Address):
        return not any(address in net for net in _NOT_PUBLIC_V4)
    if address.scope_id is not None or address not in _UNICAST_V6:
        return False
    if (int(address) >> 32) & 0xFFFF_FFFF in _ISATAP:
        return False
    return not any(address in net for net in _NOT_PUBLIC_V6)


def is_own(address: Address) -> bool:
    """Whether an address belongs to this machine: the kernel would use it as the source address too.

    A firewall may protect its services from outside but not see local connections.
    """
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((str(address), 9))  # sends nothing
            return str(probe.getsockname()[0]) == str(address)
    except OSError:
        return False
