"""What the tests of people and teams share: accounts, browsers that are signed in, and time that passes."""

import time
from collections.abc import Mapping

import httpx

from agio.core.identity.account import Account
from agio.core.identity.principal import Role
from tests.support.house import ADDRESS, House

PASSWORD = "a quiet harbour at dusk"
OURS = {"origin": ADDRESS}
"""What a browser says of our own page."""


async def add_account(
    place: House, user: str = "ann", tenant: str = "default", role: Role | None = None
) -> Account:
    """Give somebody an account with the usual password; with a role they are added first."""
    if role is not None:
        await place.store.add_tenant(tenant, tenant.title())
        await place.store.add_user(tenant, user, user.title(), role)
    kept = await place.passwords.hash(PASSWORD)
    account = Account(f"acc_{user}", f"{user}@example.com", user.title(), kept)
    await place.store.create_account(account, tenant, user)
    return account


async def browser(
    place: House, user: str = "ann", tenant: str = "default", *, signed_in_s_ago: float = 0
) -> httpx.AsyncClient:
    """A browser in which somebody is signed in."""
    at = time.time_ns() // 1_000_000 - int(signed_in_s_ago * 1000)
    cookie = await place.auth.open_session(tenant, user, at)
    return place.client(None, {"cookie": cookie.partition(";")[0], **OURS})


def with_cookie(place: House, answered: httpx.Response) -> httpx.AsyncClient:
    """A browser that took the cookie of an answer."""
    return place.client(None, {"cookie": cookie_of(answered), **OURS})


def cookie_of(answered: httpx.Response) -> str:
    """The cookie an answer sets, as a browser sends it."""
    return answered.headers["set-cookie"].partition(";")[0]


async def sign_in(
    place: House, email: str = "ann@example.com", password: str = PASSWORD, headers: Mapping[str, str] = OURS
) -> httpx.Response:
    """Sign in on the page, in a new browser."""
    async with place.client(None, headers) as client:
        return await client.post("/api/sign-in", json={"email": email, "password": password})
