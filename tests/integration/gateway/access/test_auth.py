"""Who is asking: keys, cookies, the sign-in link; which pages and names may ask at all."""

import asyncio
import time

import httpx
import pytest

from agio.errors import UserError
from agio.gateway.auth.authenticator import COOKIE, Authenticator, SignInLink, hash_secret, new_api_key
from agio.gateway.http.origin import Origins
from tests.support.house import ADDRESS, House, code_of, house


async def _sign_in(place: House) -> dict[str, str]:
    async with place.client(None) as client:
        answered = await client.get(f"/sign-in?token={place.sign_in.token}")
    assert answered.status_code == 303
    cookie = answered.headers["set-cookie"]
    return {"cookie": cookie.partition(";")[0]}


def test_a_key_is_long_random_and_known_by_its_beginning() -> None:
    """R2: 256 random bits behind a prefix that scanners for leaked secrets can look for."""
    keys = {new_api_key() for _ in range(100)}
    assert len(keys) == 100
    assert all(key.startswith("agio_") and len(key) == 48 for key in keys)
    assert len(hash_secret(new_api_key())) == 32


async def test_a_key_says_who_it_is() -> None:
    """R2: tenant and user come from the credential."""
    async with house() as place, place.client() as ann, place.client("bob") as bob:
        assert (await ann.get("/api/me")).json() == {
            "tenant": "default", "user": "ann", "name": "Ann", "role": "admin",
            "permissions": ["build", "manage", "use"], "account": None, "authenticated_at": None,
            "tenants": [{"tenant": "default", "name": "Default", "user": "ann", "role": "admin"}],
            "currency": "USD",
        }  # fmt: skip
        assert (await bob.get("/api/me")).json()["tenant"] == "other"


async def test_a_key_is_made_shown_once_listed_and_revoked() -> None:
    """R2: the key is in the answer that makes it and nowhere else; a revoked one is refused at once."""
    async with house() as place, place.client() as client:
        made = (await client.post("/api/api-keys", json={"name": "laptop"})).json()
        key = made["key"]
        assert key.startswith("agio_")
        listed = await client.get("/api/api-keys")
        assert key not in listed.text
        shown = listed.json()["items"][0]
        assert (shown["id"], shown["name"], shown["revoked_at"]) == (made["id"], "laptop", None)
        assert key.startswith(shown["prefix"])
        assert len(shown["prefix"]) < 12
        async with place.client(None, {"authorization": f"Bearer {key}"}) as program:
            assert (await program.get("/api/me")).json()["user"] == "ann"
            assert (await client.delete(f"/api/api-keys/{made['id']}")).status_code == 204
            assert code_of(await program.get("/api/me")) == "unauthenticated"
        assert code_of(await client.delete("/api/api-keys/key_nothing")) == "key_not_found"


async def test_a_revoked_key_is_believed_no_longer_than_five_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """R2: what another gateway revoked stops working here when the look-up is repeated."""
    async with house() as place, place.client() as client:
        assert (await client.get("/api/me")).status_code == 200
        key = (await place.store.list_api_keys("default", "ann"))[0]
        await place.store.revoke_api_key("default", "ann", key.id)
        assert (await client.get("/api/me")).status_code == 200
        now = time.monotonic()
        monkeypatch.setattr("agio.gateway.auth.authenticator.time.monotonic", lambda: now + 5)
        assert code_of(await client.get("/api/me")) == "unauthenticated"


async def test_few_look_ups_are_remembered() -> None:
    """R2: the memory of good look-ups is bounded, and asks the store once for many requests."""
    async with house() as place:
        auth = Authenticator(place.store)
        headers = [(b"authorization", f"Bearer {place.keys['ann']}".encode())]
        first = await auth.identify(headers)
        assert await auth.identify(headers) is first
        strangers = [[(b"authorization", b"Bearer " + b"%043d" % number)] for number in range(50)]
        for stranger in strangers:
            with pytest.raises(UserError, match="unauthenticated"):
                await auth.identify(stranger)
        assert len(auth.__dict__["_known"]) == 1


@pytest.mark.parametrize(
    "shown",
    [
        "",
        "Bearer",
        "Bearer ",
        "Basic YTpi",
        "Bearer short",
        "Bearer " + "a" * 10_000,
        "bearer \xff" + "y" * 40,
    ],
)
async def test_a_malformed_credential_is_refused(shown: str) -> None:
    """R2: whatever is in the header, the answer is 401."""
    async with house() as place, place.client(None) as client:
        answered = await client.get("/api/me", headers=[(b"authorization", shown.encode("latin-1"))])
        assert (answered.status_code, code_of(answered)) == (401, "unauthenticated")


async def test_a_wrong_key_is_not_made_good_by_a_cookie() -> None:
    """R2: a request that shows a key is judged by it alone."""
    async with house() as place, place.client(None, await _sign_in(place)) as client:
        assert (await client.get("/api/me")).status_code == 200
        wrong = await client.get("/api/me", headers={"authorization": "Bearer agio_" + "z" * 43})
        assert code_of(wrong) == "unauthenticated"


async def test_the_link_signs_a_browser_in_and_goes_on_to_the_page() -> None:
    """R2: the cookie is for this host alone, out of scripts' reach, and not sent by other sites' forms."""
    async with house() as place, place.client(None) as client:
        answered = await client.get(place.sign_in.url(ADDRESS))
        assert (answered.status_code, answered.headers["location"]) == (303, "/set-up")
        name, *rest = answered.headers["set-cookie"].split("; ")
        assert name.startswith(f"{COOKIE}=")
        assert {"Secure", "HttpOnly", "SameSite=Lax", "Path=/"} <= set(rest)
        assert not any(part.lower().startswith("domain") for part in rest)
        assert place.sign_in.token not in answered.headers["set-cookie"]
        again = await client.get(place.sign_in.url(ADDRESS))
        assert again.status_code == 403
        assert "This sign-in link was already used" in again.text
        assert "set-cookie" not in again.headers


async def test_the_link_works_once_even_for_fifty_at_once() -> None:
    """R2: one browser gets in."""
    async with house() as place, place.client(None) as client:
        url = place.sign_in.url(ADDRESS)
        answers = await asyncio.gather(*(client.get(url) for _ in range(50)))
        codes = [answer.status_code for answer in answers]
        assert codes.count(303) == 1
        assert set(codes) <= {303, 403, 429}


@pytest.mark.parametrize("query", ["", "?token=", "?token=wrong", "?token=%F0%9F%92%A9", "?token=%00"])
async def test_a_wrong_link_uses_nothing_up(query: str) -> None:
    """R2: guesses get a friendly page and leave the real link alone."""
    async with house() as place, place.client(None) as client:
        answered = await client.get(f"/sign-in{query}")
        assert answered.status_code == (200 if query in ("", "?token=") else 422 if "%00" in query else 403)
        assert "set-cookie" not in answered.headers
        assert (await client.get(place.sign_in.url(ADDRESS))).status_code == 303


async def test_a_link_that_nobody_kept_signs_nobody_in() -> None:
    """R2: the store knows which links are good."""
    async with house() as place:
        assert await place.auth.sign_in("") is None
        assert await place.auth.sign_in(SignInLink().token) is None


async def test_signing_out_ends_the_session_on_the_server() -> None:
    """R2: the cookie is worthless afterwards, even where it was kept."""
    async with house() as place:
        cookie = await _sign_in(place)
        async with place.client(None, cookie) as client:
            assert (await client.get("/api/me")).json()["user"] == "ann"
            out = await client.post("/sign-out", headers={"origin": ADDRESS})
            assert out.status_code == 204
            assert "Max-Age=0" in out.headers["set-cookie"]
            assert code_of(await client.get("/api/me")) == "unauthenticated"


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({"origin": ADDRESS}, True),
        ({"origin": "http://evil.example"}, False),
        ({"origin": "http://127.0.0.1:9999"}, False),
        ({"origin": "null"}, False),
        ({"origin": ""}, False),
        ({"sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "cross-site"}, False),
        ({"sec-fetch-site": "same-site"}, False),
        ({"origin": "http://evil.example", "sec-fetch-site": "same-origin"}, False),
        ({}, False),
    ],
)
async def test_another_sites_page_changes_nothing_with_our_cookie(
    headers: dict[str, str], allowed: bool
) -> None:
    """R2: what changes something with a cookie must come from our own page."""
    async with house() as place, place.client(None, await _sign_in(place)) as client:
        assert (await client.get("/api/agents", headers={"origin": "http://evil.example"})).status_code == 200
        answered = await client.post("/api/api-keys", json={"name": "k"}, headers=headers)
        if allowed:
            assert answered.status_code == 201
        else:
            assert (answered.status_code, code_of(answered)) == (403, "forbidden_origin")
            out = await client.post("/sign-out", headers=headers)
            assert code_of(out) == "forbidden_origin"


async def test_a_program_with_a_key_needs_no_origin() -> None:
    """R2: no browser sends a key by itself."""
    async with house() as place, place.client() as client:
        for headers in ({}, {"origin": "http://elsewhere.example"}):
            made = await client.post("/api/api-keys", json={"name": "k"}, headers=headers)
            assert made.status_code == 201


async def test_a_socket_is_opened_from_our_own_pages_only() -> None:
    """R1, R2: the origin of a WebSocket is checked, and a program without one is let in by its key."""
    async with house() as place:
        cookie = (await _sign_in(place))["cookie"].encode()
        host = (b"host", b"127.0.0.1:8700")
        key = (b"authorization", f"Bearer {place.keys['ann']}".encode())
        good: list[list[tuple[bytes, bytes]]] = [
            [host, (b"cookie", cookie), (b"origin", ADDRESS.encode())],
            [host, key],
            [host, key, (b"origin", ADDRESS.encode())],
        ]
        bad: list[list[tuple[bytes, bytes]]] = [
            [host, (b"cookie", cookie)],
            [host, (b"cookie", cookie), (b"origin", b"http://evil.example")],
            [host, key, (b"origin", b"http://evil.example")],
        ]
        for headers in good:
            assert (await place.auth.admit({"type": "websocket", "headers": headers})).user == "ann"
        for headers in bad:
            with pytest.raises(UserError, match="forbidden_origin"):
                await place.auth.admit({"type": "websocket", "headers": headers})


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("localhost:8700", True),
        ("LOCALHOST", True),
        ("127.0.0.1:8700", True),
        ("[::1]:8700", True),
        ("192.168.1.7", True),
        ("agio.test", True),
        ("agio.test.:443", True),
        ("evil.example", False),
        ("localhost.evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("", False),
    ],
)
async def test_a_name_that_is_not_ours_is_refused(host: str, allowed: bool) -> None:
    """R2: a page whose name was turned to our address reaches nothing (DNS rebinding)."""
    async with house() as place, place.client(None) as client:
        answered = await client.get("/api/health", headers={"host": host})
        assert answered.status_code == (200 if allowed else 403)
        if not allowed:
            assert code_of(answered) == "forbidden_host"


async def test_any_name_is_taken_where_that_is_wanted() -> None:
    """R2: behind a proxy that checks names, and for programs whose key is good: others guess no password there."""
    Origins(behind_tls=True).check_host([(b"host", b"anything.example")])
    async with house() as place, place.client(None, {"host": "gateway"}) as client:
        good, worker = f"Bearer {place.keys['ann']}", f"Bearer {place.gateway.worker_key}"
        guess = {"email": "ann@example.com", "password": "a guess at a password"}
        for shown, status in (
            ({"authorization": good}, 401),
            ({"authorization": "Bearer x"}, 403),
            ({}, 403),
        ):
            answered = await client.post(
                "/api/sign-in", json=guess, headers={"origin": "http://gateway", **shown}
            )
            assert answered.status_code == status
            assert code_of(answered) == ("wrong_credentials" if status == 401 else "forbidden_host")
        assert (await client.get("/api/me", headers={"authorization": good})).status_code == 200
        assert (await client.get("/metrics", headers={"authorization": "Bearer x"})).status_code == 403
        beat = await client.post("/link/heartbeat", content=b"w1", headers={"authorization": worker})
        assert beat.status_code == 410


async def test_the_server_does_not_say_why_a_credential_is_wrong() -> None:
    """R2: unknown, revoked and misspelt keys get the same words."""
    async with house() as place, place.client(None) as client:

        async def words(key: str) -> httpx.Response:
            return await client.get("/api/me", headers={"authorization": f"Bearer {key}"})

        revoked = new_api_key()
        assert (await words(revoked)).text == (await words("agio_" + "0" * 43)).text
