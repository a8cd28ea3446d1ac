"""From the first start to an account, with real processes: the link, the password, and a way back in."""

import re
from pathlib import Path

import httpx

from tests.support.command import Cli
from tests.support.process import Server, answer_of

PASSWORD = "a quiet harbour at dusk"


def _cookie(answered: httpx.Response) -> dict[str, str]:
    return {"cookie": answered.headers["set-cookie"].partition(";")[0]}


def test_an_owner_makes_an_account_and_the_next_start_prints_no_link(tmp_path: Path) -> None:
    """R2: afterwards one signs in with a password; the command line makes a link for a user it is told, also beside
    a running server, with the server's address."""
    cli = Cli(tmp_path)
    given = {"email": "olga@example.com", "password": PASSWORD}
    with Server(tmp_path) as server, server.client(key=None) as browser:
        ours = {"origin": server.url}
        mine = _cookie(browser.get(server.sign_in))
        assert (browser.get("/api/sign-in/methods")).json()["password"] is False
        made = browser.post("/api/account", json={**given, "name": "Olga"}, headers={**ours, **mine})
        assert made.status_code == 201, made.text
        assert server.stop() == 0
    with Server(tmp_path) as server, server.client(key=None) as browser:
        assert server.sign_in == f"{server.url}/"
        ours = {"origin": server.url}
        assert answer_of(browser.get("/api/me", headers=mine))["name"] == "Olga"
        signed_in = browser.post("/api/sign-in", json=given, headers=ours)
        assert answer_of(signed_in)["role"] == "owner"
        assert browser.post("/sign-out", headers={**ours, **_cookie(signed_in)}).status_code == 204
        assert browser.get("/api/me", headers=_cookie(signed_in)).status_code == 401
        unnamed = cli.run("keys", "sign-in")
        assert (unnamed.returncode, unnamed.stdout) == (2, "")
        assert re.search(r"local +Olga +olga@example\.com +owner", unnamed.stderr), unnamed.stderr
        for nobody in ("nobody", "nobody@example.com"):
            assert "user_not_found" in cli.run("keys", "sign-in", "--user", nobody).stderr
        printed = cli.run("keys", "sign-in", "--user", "Olga@example.com")
        assert printed.returncode == 0, printed.stderr
        assert printed.stdout.startswith(f"{server.url}/sign-in?token=")
        back = browser.get(printed.stdout.strip())
        assert back.status_code == 303
        assert given["email"] in browser.get("/api/me", headers=_cookie(back)).text
        assert browser.get(printed.stdout.strip()).status_code == 403
        assert server.stop() == 0
        later = cli.run("keys", "sign-in", "--user", "local")
        assert later.stdout.startswith(f"{server.url}/sign-in?token="), later.stderr
    named = cli.run("keys", "sign-in", "--user", "local", "--url", "https://agio.example.com/")
    assert named.stdout.startswith("https://agio.example.com/sign-in?token=")
    with Server(tmp_path) as server, server.client(key=None) as browser:
        assert browser.get(f"/sign-in?{later.stdout.strip().partition('?')[2]}").status_code == 303
