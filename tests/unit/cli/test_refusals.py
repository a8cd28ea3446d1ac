"""Refusals of the command line's client, before and after a server is asked."""

import pytest

from agio.cli.client.server_client import ServerClient, refusal
from agio.errors import UserError


@pytest.mark.parametrize("said", [b"<html>", b"[]", b"{}"])
def test_what_is_no_agio_is_told_so(said: bytes) -> None:
    """R5: another program's answer is no error of agio's."""
    assert refusal(404, said).code == "not_agio"


@pytest.mark.parametrize("url", ["nonsense", "http://127.0.0.1:99999", "http://[::1"])
def test_an_address_that_is_none_is_told_so(url: str) -> None:
    """R5: before anything is sent."""
    with pytest.raises(UserError) as refused:
        ServerClient(url, "key")
    assert refused.value.code == "invalid_server_url"
