"""A server that others can reach: when it begins, what it is called, and what it warns of."""

import asyncio
from pathlib import Path

import httpx
import pytest

from agio.core.identity.account import Account
from agio.core.identity.principal import DEFAULT_TENANT, LOCAL_USER
from agio.db.repository import open_store
from tests.acceptance.server.test_refusals import refused
from tests.support.postgres import PostgresServer
from tests.support.process import Server

PUBLIC = "https://agio.example.com"


async def _add_account(database: Path) -> None:
    store = await open_store(database)
    await store.add_user(DEFAULT_TENANT, LOCAL_USER, "Local user", "owner")
    await store.create_account(Account("acc_1", "ann@example.com", "Ann", "x"), DEFAULT_TENANT, LOCAL_USER)
    await store.close()


def _near(server: Server) -> str:
    return f"http://127.0.0.1:{server.url.rpartition(':')[2]}"


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_an_address_that_others_can_reach_is_refused_while_nobody_has_an_account(
    tmp_path: Path, host: str
) -> None:
    """R2: it says why, and leaves nothing behind."""
    with Server(tmp_path, "--host", host, wait=False) as server:
        line = refused(server, "public_bind")
    assert "--behind-tls" in line
    assert "account" in line
    assert not server.data.exists()


def test_a_store_without_an_account_is_not_touched_either(tmp_path: Path) -> None:
    """R2: a server that ran on this machine alone does not become everybody's by another address."""
    with Server(tmp_path) as server:
        pass
    before = {path.name: path.stat().st_mtime_ns for path in server.data.glob("agio.db")}
    assert before
    with Server(tmp_path, "--host", "0.0.0.0", wait=False) as server:
        refused(server, "public_bind")
    assert {path.name: path.stat().st_mtime_ns for path in server.data.glob("agio.db")} == before


def test_an_empty_database_is_not_filled_for_nothing(tmp_path: Path, postgres: PostgresServer) -> None:
    """R2: on Postgres too, a refusal makes no table."""
    environment = {"AGIO_DATABASE_URL": postgres.create_database(), "AGIO_WORKER_KEY": "w" * 40}
    for _ in range(2):
        with Server(
            tmp_path,
            *("--port", "0", "--host", "0.0.0.0"),
            command="gateway",
            environment=environment,
            wait=False,
            own_data=False,
        ) as server:
            refused(server, "public_bind")


def test_with_an_account_it_begins_and_says_what_is_open(tmp_path: Path) -> None:
    """R2: without TLS browsers cannot sign in, and keys travel in the clear: that is said."""
    (tmp_path / "data").mkdir()
    asyncio.run(_add_account(tmp_path / "data" / "agio.db"))
    with Server(tmp_path, "--host", "0.0.0.0", wait=False) as server:
        server.await_ready()
        assert httpx.get(f"{_near(server)}/api/health", timeout=60).status_code == 200
    assert "without TLS" in server.errors
    assert "API keys travel in the clear" in server.errors


def test_behind_tls_it_begins_for_others_and_asks_for_its_name(tmp_path: Path) -> None:
    """R2: whoever declares TLS may listen for others; without a public URL every name leads here, with a warning."""
    with Server(tmp_path, "--host", "0.0.0.0", "--behind-tls", wait=False) as server:
        server.await_ready()
        assert server.sign_in.startswith("https://YOUR-NAME/sign-in?token=")
        server.url = _near(server)
        with server.client() as client:
            named = client.get("/api/agents", headers={"host": "agio.example.com"})
            assert named.status_code == 200
            assert "strict-transport-security" in named.headers
        assert httpx.get(f"{server.url}/metrics", timeout=60).status_code == 401
    assert "--public-url" in server.errors
    assert "AGIO_TRUSTED_PROXIES" in server.errors


@pytest.mark.parametrize("by", ["option", "variable"])
def test_a_server_has_the_name_it_is_given(tmp_path: Path, by: str) -> None:
    """R2: in the link it prints, in the names it answers to, and in the origin of its pages."""
    arguments = ["--host", "0.0.0.0", "--behind-tls"]
    environment = {"AGIO_TRUSTED_PROXIES": "127.0.0.1"}
    if by == "option":
        arguments += ["--public-url", f"{PUBLIC.upper().replace('HTTPS', 'https')}/"]
        environment["AGIO_PUBLIC_URL"] = "https://other.example.com"
    else:
        environment["AGIO_PUBLIC_URL"] = f"{PUBLIC}:443"
    with Server(tmp_path, *arguments, environment=environment, wait=False) as server:
        server.await_ready()
        assert server.sign_in.startswith(f"{PUBLIC}/sign-in?token=")
        near = _near(server)
        with httpx.Client(base_url=near, headers={"host": "agio.example.com"}, timeout=60) as browser:
            signed_in = browser.get(f"/sign-in?{server.sign_in.partition('?')[2]}")
            cookie = {"cookie": signed_in.headers["set-cookie"].partition(";")[0]}
            for origin, status in ((PUBLIC, 204), ("https://other.example.com", 403), (near, 403)):
                out = browser.post("/sign-out", headers={**cookie, "origin": origin})
                assert out.status_code == status, origin
            strange = browser.get("/api/health", headers={"host": "other.example.com"})
            assert strange.status_code == 403
    assert "--public-url" not in server.errors
    assert "AGIO_TRUSTED_PROXIES" not in server.errors


@pytest.mark.parametrize(
    "url",
    [
        "agio.example.com",
        "ftp://agio.example.com",
        "https://",
        "https://a.example/path",
        "https://u:p@a.example",
    ],
)
def test_a_public_url_that_is_none(tmp_path: Path, url: str) -> None:
    """L13: only an origin can be one."""
    with Server(tmp_path, "--public-url", url, wait=False) as server:
        assert "public URL" in refused(server, "invalid_setting")


def test_proxies_that_are_none(tmp_path: Path) -> None:
    """S14: a name is no address."""
    environment = {"AGIO_TRUSTED_PROXIES": "10.0.0.0/8, caddy"}
    with Server(tmp_path, environment=environment, wait=False) as server:
        assert "'caddy'" in refused(server, "invalid_setting")
