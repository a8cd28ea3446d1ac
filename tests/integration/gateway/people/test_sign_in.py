"""Signing in: with a password, with the one-time link; what it gives away, and what ends it."""

import asyncio
import os
from pathlib import Path

import httpx
import pytest
from msgspec import structs

from agio.core.identity.account import Account
from agio.errors import LimitExceeded, UserError
from agio.gateway.auth.authenticator import COOKIE, SignInLink
from agio.gateway.auth.passwords import MAX_CHARS, Passwords, check_new_password
from tests.integration.gateway.accounts import (
    OURS,
    PASSWORD,
    add_account,
    browser,
    cookie_of,
    sign_in,
    with_cookie,
)
from tests.support.engine import soon
from tests.support.house import ADDRESS, code_of, house
from tests.support.served import served


async def test_a_person_signs_in_with_address_and_password() -> None:
    """R2: the answer says where, the cookie is for this host alone and out of scripts' reach."""
    async with house() as place:
        await add_account(place)
        answered = await sign_in(place)
        assert answered.status_code == 200, answered.text
        assert answered.json() == {"tenant": "default", "name": "Default", "user": "ann", "role": "admin"}
        name, *rest = answered.headers["set-cookie"].split("; ")
        assert name.startswith(f"{COOKIE}=")
        assert {"Secure", "HttpOnly", "SameSite=Lax", "Path=/"} <= set(rest)
        assert answered.headers["cache-control"] == "no-store"
        async with with_cookie(place, answered) as client:
            me = (await client.get("/api/me")).json()
            assert (me["user"], me["account"]["email"]) == ("ann", "ann@example.com")


@pytest.mark.parametrize(
    ("kept", "written"),
    [
        ("ann@example.com", "Ann@EXAMPLE.com"),
        ("ann@example.com", "  ann@example.com "),
        ("jos\u00e9@example.com", "JOSE\u0301@example.com"),
    ],
)
async def test_an_address_may_be_written_as_people_write_it(kept: str, written: str) -> None:
    """R2: case, blanks around it and the composition of characters do not matter."""
    async with house() as place:
        account = await add_account(place)
        await place.store.change_account(account.id, account.name, kept)
        assert (await sign_in(place, written)).status_code == 200


async def test_a_password_may_be_written_by_any_keyboard() -> None:
    """R2: composed and decomposed characters are the same password; case is not."""
    async with house() as place:
        account = await add_account(place)
        await place.store.set_password(account.id, await place.passwords.hash("Caf\u00e9 au lait, bien"))
        assert (await sign_in(place, password="Cafe\u0301 au lait, bien")).status_code == 200
        assert (await sign_in(place, password="caf\u00e9 au lait, bien")).status_code == 401


async def test_nobody_learns_which_part_was_wrong() -> None:
    """R2: an unknown address, a wrong password and an account without one get the same answer after the same work."""
    async with house() as place:
        await add_account(place)
        elsewhere = Account("acc_oda", "oda@example.com", "Oda", None)
        await place.store.create_account(elsewhere, "default", "cid")
        answers: list[httpx.Response] = []
        for email, password in (
            ("nobody@example.com", PASSWORD),
            ("ann@example.com", "wrong"),
            ("oda@example.com", PASSWORD),
            ("not an address", PASSWORD),
        ):
            before = place.passwords.verified
            answers.append(await sign_in(place, email, password))
            assert place.passwords.verified == before + 1, email
        assert {answer.text for answer in answers} == {answers[0].text}
        assert {answer.status_code for answer in answers} == {401}
        assert code_of(answers[0]) == "wrong_credentials"
        assert not any("set-cookie" in answer.headers for answer in answers)
        assert (await sign_in(place)).status_code == 200


async def test_what_is_checked_for_nobody_costs_what_is_checked_for_somebody() -> None:
    """R2: the hash that stands for no account was made with the same parameters."""
    passwords = Passwords(memory_kib=128, passes=2)
    kept = await passwords.hash(PASSWORD)
    assert await passwords.verify(kept, PASSWORD)
    assert not await passwords.verify(None, PASSWORD)
    nobody: str = getattr(passwords, "_dummy_hash")  # noqa: B009
    assert nobody.rsplit("$", 2)[0] == kept.rsplit("$", 2)[0]
    assert kept.startswith("$argon2id$")


async def test_too_long_a_password_is_refused_before_it_is_hashed() -> None:
    """R2: neither a megabyte nor one character too many costs any work."""
    async with house() as place:
        await add_account(place)
        before = place.passwords.verified
        for length, code in ((MAX_CHARS + 1, "invalid_body"), (1024 * 1024, "body_too_large")):
            answered = await sign_in(place, password="x" * length)
            assert code_of(answered) == code
            assert "xxxx" not in answered.text
        assert code_of(await sign_in(place, password="")) == "invalid_body"
        assert place.passwords.verified == before


async def test_a_hash_of_other_costs_is_replaced_at_the_next_sign_in() -> None:
    """R2: parameters may grow; who signs in has the new ones, whoever changed the password meanwhile keeps it."""
    async with house() as place:
        account = await add_account(place)
        weaker = await Passwords(memory_kib=32, passes=1).hash(PASSWORD)
        await place.store.set_password(account.id, weaker)
        assert (await sign_in(place)).status_code == 200
        kept = (await place.store.get_account(account.id)).password_hash
        assert kept is not None
        assert kept != weaker
        assert not place.passwords.is_outdated(kept)
        assert (await sign_in(place)).status_code == 200
        assert (await place.store.get_account(account.id)).password_hash == kept


async def test_passwords_are_checked_two_at_a_time_beside_the_event_loop() -> None:
    """R2: many sign-ins at once neither stop the server nor need memory for all."""
    async with house() as place:
        await add_account(place)
        slow = Passwords(memory_kib=8 * 1024, passes=2)
        kept = await slow.hash(PASSWORD)
        checks = asyncio.gather(*(slow.verify(kept, PASSWORD) for _ in range(12)))
        async with place.client(None) as client:
            assert (await client.get("/api/health")).status_code == 200
        assert not checks.done()
        assert all(await checks)
        assert len(getattr(slow, "_threads")._threads) == 2  # noqa: B009


@pytest.mark.parametrize(
    "password",
    [
        "short",
        "elevenchars",
        "password1234",
        "PassWord1234",
        "ann@example.com",
        "ANN@EXAMPLE.COM",
        "aaaaaaaaaaaaaaaa",
        "abababababababab",
        "x" * (MAX_CHARS + 1),
    ],
)
def test_a_password_that_would_be_guessed_is_refused(password: str) -> None:
    """R2: too short, too common, too plain, or what everybody knows; and one that is none of it is taken."""
    with pytest.raises(UserError, match="weak_password"):
        check_new_password(password, "ann@example.com")
    check_new_password(PASSWORD, "ann@example.com")


async def test_a_secret_that_was_there_before_signs_nobody_in() -> None:
    """R2: every sign-in has a secret of its own (fixation), and ends what the browser was signed in as."""
    async with house() as place:
        await add_account(place)
        planted = f"{COOKIE}=" + "p" * 43
        answered = await sign_in(place, headers={**OURS, "cookie": planted})
        assert cookie_of(answered) != planted
        async with place.client(None, {"cookie": planted}) as attacker:
            assert code_of(await attacker.get("/api/me")) == "unauthenticated"
        again = await sign_in(place, headers={**OURS, "cookie": cookie_of(answered)})
        assert cookie_of(again) != cookie_of(answered)
        async with with_cookie(place, answered) as before, with_cookie(place, again) as now:
            assert code_of(await before.get("/api/me")) == "unauthenticated"
            assert (await now.get("/api/me")).status_code == 200


async def test_another_sites_page_signs_nobody_in_here() -> None:
    """R2: no form elsewhere can make a browser ours as somebody the attacker chose."""
    async with house() as place:
        await add_account(place)
        for headers in ({"origin": "http://evil.example"}, {}, {"sec-fetch-site": "cross-site"}):
            answered = await sign_in(place, headers=headers)
            assert (answered.status_code, code_of(answered)) == (403, "forbidden_origin")


async def test_whoever_is_in_no_team_any_more_does_not_come_in() -> None:
    """R2: an account alone opens nothing."""
    async with house() as place:
        await add_account(place, "mia", role="member")
        await place.store.remove_member("default", "mia")
        answered = await sign_in(place, "mia@example.com")
        assert (answered.status_code, code_of(answered)) == (403, "no_membership")


async def test_many_attempts_are_slowed_down() -> None:
    """R2: by address and by account."""
    async with house() as place:
        await add_account(place)
        codes = [(await sign_in(place, password="wrong")).status_code for _ in range(30)]
        assert codes[0] == 401
        assert codes[-1] == 429


async def test_the_ways_to_sign_in_are_told_to_anybody() -> None:
    """R2: a password only where somebody has one."""
    async with house() as place, place.client(None) as client:
        assert (await client.get("/api/sign-in/methods")).json() == {"password": False, "providers": []}
        await add_account(place)
        assert (await client.get("/api/sign-in/methods")).json() == {"password": True, "providers": []}


async def test_fifty_browsers_at_once_use_a_link_and_one_gets_in(tmp_path: Path) -> None:
    """R2: over real sockets; the store decides who was first."""
    async with served(tmp_path) as server, httpx.AsyncClient(timeout=60) as client:
        answers = await asyncio.wait_for(
            asyncio.gather(*(client.get(server.link) for _ in range(50))), timeout=60
        )
        assert sorted(answer.status_code for answer in answers).count(303) == 1
        assert {answer.status_code for answer in answers} <= {303, 403, 429}
        [good] = [answer for answer in answers if answer.status_code == 303]
        assert good.headers["location"] == "/set-up"
        assert sum("set-cookie" in answer.headers for answer in answers) == 1


async def test_a_link_makes_the_first_owner_who_makes_an_account() -> None:
    """R2: from the link to the account, and in again with it."""
    async with house() as place, place.client(None) as client:
        link = await SignInLink().keep(place.store)
        await place.store.add_user("default", "local", "Local user", "owner")
        opened = await client.get(link.url(ADDRESS))
        assert opened.headers["location"] == "/set-up"
        async with with_cookie(place, opened) as owner:
            me = (await owner.get("/api/me")).json()
            assert (me["user"], me["role"], me["account"]) == ("local", "owner", None)
            given = {"email": "Olga@Example.com", "name": "Olga", "password": PASSWORD}
            made = await owner.post("/api/account", json=given)
            assert made.status_code == 201, made.text
        answered = await sign_in(place, "olga@example.com")
        assert (answered.json()["user"], answered.json()["role"]) == ("local", "owner")


async def test_a_removed_members_key_and_cookie_open_nothing() -> None:
    """R2: at once on this gateway."""
    async with house() as place, await browser(place, "cid") as cid, place.client("cid") as program:
        assert (await cid.get("/api/me")).status_code == 200
        assert (await program.get("/api/me")).status_code == 200
        async with place.client() as ann:
            assert (await ann.delete("/api/members/cid")).status_code == 204
        for client in (cid, program):
            assert code_of(await client.get("/api/me")) == "unauthenticated"


async def test_a_link_is_not_used_up_by_a_store_that_fails() -> None:
    """R2: whoever could not be signed in is told to try again."""
    async with house() as place, place.client(None) as client:
        await place.store.close()
        answered = await client.get(place.sign_in.url(ADDRESS))
        assert (answered.status_code, code_of(answered)) == (503, "store_closed")


async def test_the_words_of_a_refusal_hold_no_password() -> None:
    """R2: what was sent is not repeated."""
    secret = "canary-" + os.urandom(8).hex()
    async with house() as place, place.client(None, OURS) as client:
        for body in (
            {"email": 5, "password": secret},
            {"email": "a@b.example", "password": [secret]},
            {"email": "a@b.example", "password": secret, "more": secret},
        ):
            answered = await client.post("/api/sign-in", json=body)
            assert code_of(answered) == "invalid_body"
            assert secret not in answered.text


async def test_an_account_is_what_the_store_keeps() -> None:
    """R2: the hash stays on the server."""
    async with house() as place:
        account = await add_account(place)
        assert structs.asdict(account)["password_hash"].startswith("$argon2id$")
        async with await browser(place) as client:
            for path in ("/api/account", "/api/me", "/api/members"):
                assert "argon2" not in (await client.get(path)).text


async def test_passwords_do_not_queue_up_without_end() -> None:
    """R2, S14: whoever floods us is refused at once, and whoever comes afterwards need not wait for minutes."""
    passwords = Passwords(memory_kib=1024, passes=1)
    checks = [passwords.verify(None, "x") for _ in range(100)]
    done = await soon(asyncio.gather(*checks, return_exceptions=True))
    refused = [error for error in done if isinstance(error, LimitExceeded)]
    assert len(refused) == 100 - passwords.verified
    assert 0 < passwords.verified < 50
    assert {error.code for error in refused} == {"rate_limited"}
    assert await passwords.verify(await passwords.hash("x"), "x")
