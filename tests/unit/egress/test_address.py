"""Which addresses are public."""

from ipaddress import ip_address

import pytest

from agio.egress import is_public
from agio.egress.address import is_own

NOT_PUBLIC = """
0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.254 100.100.100.200 127.0.0.1 127.255.255.254
168.63.129.16 169.254.0.1 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.192 192.0.2.1
192.88.99.1 192.168.0.1 192.168.255.255 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1
239.255.255.255 240.0.0.1 255.255.255.254 255.255.255.255 :: ::1 ::2 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1
::ffff:8.8.8.8 ::ffff:0:127.0.0.1 64:ff9b::7f00:1 64:ff9b::808:808 64:ff9b:1::a00:1 100::1 100:0:0:1::1
2001::1 2001:0:7f00:1:: 2001:2::1 2001:10::1 2001:1f::1 2001:20::1 2001:1::1 2001:db8::1 2002:7f00:1::
2002:808:808::1 3ffe::1 3fff::1 3fff:fff::1 4000::1 5f00::1 fc00::1 fd00::1 fd00:ec2::254 fe80::1
fe80::1%eth0 febf::1 fec0::1 feff::1 ff00::1 ff02::1 ff0e::1 2606:4700::5efe:10.0.0.1
2606:4700::200:5efe:10.0.0.1 2606:4700::1%1
"""
PUBLIC = """
1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 93.184.215.14 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1
168.63.129.15 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.1 192.167.255.255 192.169.0.0
198.17.255.255 198.20.0.0 223.255.255.255 2606:4700:4700::1111 2a00:1450:4001:82a::200e 2001:4860:4860::8888
2001:200::1 2003::1 2620:fe::fe
"""


@pytest.mark.parametrize("text", NOT_PUBLIC.split())
def test_what_is_not_the_internets_is_not_public(text: str) -> None:
    """C3: private, local, reserved and special addresses, and those that hide another inside."""
    assert not is_public(ip_address(text))


@pytest.mark.parametrize("text", PUBLIC.split())
def test_what_is_the_internets_is_public(text: str) -> None:
    """C3: the neighbours of the ranges that are not, and well-known servers."""
    assert is_public(ip_address(text))


def test_an_address_of_this_machine_is_known_as_its_own() -> None:
    """C3: a firewall in front does not see what comes from within."""
    assert is_own(ip_address("127.0.0.1"))
    assert not is_own(ip_address("93.184.215.14"))
