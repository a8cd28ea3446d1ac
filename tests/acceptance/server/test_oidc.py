"""OpenID providers from the operator's side: AGIO_OIDC and AGIO_PUBLIC_URL given to a real server."""

import json
from pathlib import Path

from tests.support.oidc_server import CLIENT_ID, CLIENT_SECRET, Browser, OidcServer
from tests.support.process import Server

NAMED = {"id": "test", "name": "Test", "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}


async def test_a_server_lets_people_sign_in_at_the_provider_it_was_given(tmp_path: Path) -> None:
    """R2: nothing but the variable is set; people are sent back to the server's own address."""
    with OidcServer() as provider:
        named = {**NAMED, "issuer": provider.url, "tenant": "default", "domains": ["example.com"]}
        with Server(tmp_path, environment={"AGIO_OIDC": json.dumps([named])}) as server:
            provider.register(f"{server.url}/sign-in/oidc/test/callback")
            async with Browser(server.url) as browser:
                answered = await browser.sign_in()
                assert (answered.status_code, answered.headers["location"]) == (303, "/"), answered.text
                me = await browser.me()
                assert me is not None
                assert (me["name"], me["role"]) == ("Ann", "member")
            server.stop()
            assert CLIENT_SECRET not in server.output() + server.errors


def test_a_setting_that_cannot_work_stops_the_start(tmp_path: Path) -> None:
    """R2: a tenant that is not there; people who could not be sent back; a list that is none."""
    google = {**NAMED, "issuer": "https://accounts.google.com"}
    wrong: list[tuple[str, tuple[str, ...], str]] = [
        (json.dumps([{**google, "tenant": "nobody"}]), (), "nobody"),
        (json.dumps([google]), ("--host", "0.0.0.0", "--behind-tls"), "AGIO_PUBLIC_URL"),
        ("{}", (), "AGIO_OIDC"),
    ]
    for number, (value, arguments, words) in enumerate(wrong):
        folder = tmp_path / str(number)
        folder.mkdir()
        with Server(folder, *arguments, environment={"AGIO_OIDC": value}, wait=False) as server:
            assert server.wait() != 0
            assert words in server.errors
            assert CLIENT_SECRET not in server.errors
