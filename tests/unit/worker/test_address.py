"""A gateway's address: what is understood, and what is refused at once."""

import pytest

from agio.errors import UserError
from agio.worker.address import parse_address


@pytest.mark.parametrize(
    ("written", "link", "heartbeat"),
    [
        ("http://127.0.0.1:8700", "ws://127.0.0.1:8700/link", "/link/heartbeat"),
        ("https://agio.example/", "wss://agio.example/link", "/link/heartbeat"),
        ("ws://[::1]:8700/deep/", "ws://[::1]:8700/deep/link", "/deep/link/heartbeat"),
        ("wss://gateway", "wss://gateway/link", "/link/heartbeat"),
    ],
)
def test_one_address_names_both_doors(written: str, link: str, heartbeat: str) -> None:
    """R4: a worker needs one address."""
    address = parse_address(written)
    assert address.link_url == link
    assert address.heartbeat_path == heartbeat


@pytest.mark.parametrize(
    "written", ["", "10.0.0.5:8700", "ftp://x", "http://", "http://[", "http://x:port", "http://u:p@x"]
)
def test_what_is_no_address_is_refused_at_once(written: str) -> None:
    """L13: a worker with a wrong address says so instead of trying for ever."""
    with pytest.raises(UserError) as refused:
        parse_address(written)
    assert refused.value.code == "invalid_gateway_url"
