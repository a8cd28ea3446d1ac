"""How often somebody may ask, by whom they are and where they come from."""

import time

import pytest
from msgspec import structs

from agio.core.config import ServerLimits
from agio.errors import LimitExceeded
from agio.gateway.http.rate_limits import Kind, Rates
from tests.support.engine import QUICK
from tests.support.house import code_of, house

LIMITS = ServerLimits(
    sign_ins_at_once=3,
    sign_in_every_s=20.0,
    bad_keys_per_minute=6,
    messages_per_minute=6,
    tool_calls_per_minute=6,
    files_per_minute=6,
    requests_per_minute=6,
)


class Clock:
    """A time that stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def _taken(rates: Rates, kind: Kind, *keys: str) -> int:
    """How many are taken at once."""
    for count in range(10_000):
        try:
            rates.take(kind, *keys)
        except LimitExceeded:
            return count
    raise AssertionError("there is no limit")


@pytest.mark.parametrize("kind", ["bad_key", "message", "tool", "file", "request"])
def test_as_many_as_a_minute_allows_and_then_one_at_a_time(kind: Kind) -> None:
    """S14: a burst, then as fast as the bucket fills, and never more than a burst after a long silence."""
    clock = Clock()
    rates = Rates(LIMITS, clock)
    assert _taken(rates, kind, "ann") == 6
    with pytest.raises(LimitExceeded) as refused:
        rates.take(kind, "ann")
    assert refused.value.code == "rate_limited"
    assert refused.value.details == {"retry_after_s": 10}
    clock.now += 9.9
    assert _taken(rates, kind, "ann") == 0
    clock.now += 0.2
    assert _taken(rates, kind, "ann") == 1
    clock.now += 3600
    assert _taken(rates, kind, "ann") == 6
    assert _taken(rates, kind, "bob") == 6
    assert rates.refused[kind] == 6


def test_signing_in_is_forgiven_slowly() -> None:
    """S14, R2: a few attempts, then one every twenty seconds."""
    clock = Clock()
    rates = Rates(LIMITS, clock)
    assert _taken(rates, "sign_in", "203.0.113.9", "ann@example.com") == 3
    clock.now += 60
    assert _taken(rates, "sign_in", "203.0.113.9", "ann@example.com") == 3


def test_an_account_is_guessed_at_from_no_number_of_addresses() -> None:
    """S14, R2: address and account each have their own bucket, and neither is taken for the other."""
    rates = Rates(LIMITS, Clock())
    for host in range(3):
        rates.take("sign_in", f"203.0.113.{host}", "ann@example.com")
    with pytest.raises(LimitExceeded):
        rates.take("sign_in", "203.0.113.77", "ann@example.com")
    assert _taken(rates, "sign_in", "203.0.113.77", "bob@example.com") == 3
    assert _taken(rates, "sign_in", "203.0.113.78", "203.0.113.79") == 3
    assert _taken(rates, "sign_in", "203.0.113.79") == 3


def test_a_refusal_costs_nobody_anything() -> None:
    """S14: who is refused for the address has not used up the account's attempts."""
    rates = Rates(LIMITS, Clock())
    assert _taken(rates, "sign_in", "203.0.113.1", "x@example.com") == 3
    for _ in range(20):
        with pytest.raises(LimitExceeded):
            rates.take("sign_in", "203.0.113.1", "ann@example.com")
    assert _taken(rates, "sign_in", "203.0.113.2", "ann@example.com") == 3


def test_a_check_counts_nothing_and_says_the_same() -> None:
    """S14: looking is free; somebody without an address is not counted."""
    rates = Rates(LIMITS, Clock())
    for _ in range(100):
        rates.check("bad_key", "203.0.113.1")
        rates.take("bad_key", "")
        rates.check("bad_key", "")
    assert _taken(rates, "bad_key", "203.0.113.1") == 6
    with pytest.raises(LimitExceeded):
        rates.check("bad_key", "203.0.113.1")


def test_the_addresses_of_one_ipv6_network_are_one() -> None:
    """S14: a /64 has more addresses than there are buckets."""
    rates = Rates(LIMITS, Clock())
    for host in range(6):
        rates.take("bad_key", f"2001:db8:1:2::{host:x}")
    with pytest.raises(LimitExceeded):
        rates.take("bad_key", "2001:0db8:0001:0002:ffff::1")
    assert _taken(rates, "bad_key", "2001:db8:1:3::1") == 6
    assert _taken(rates, "bad_key", "::ffff:203.0.113.5") == 6
    assert _taken(rates, "bad_key", "203.0.113.5") == 0


def test_memory_is_bounded_and_asking_is_quick() -> None:
    """S14: a hundred thousand strangers, with names of any length, cost what sixteen thousand do."""
    rates = Rates(LIMITS, Clock())
    began = time.process_time()
    for number in range(100_000):
        rates.take("request", f"key_{number}")
    each_us = (time.process_time() - began) * 10
    rates.take("sign_in", "203.0.113.1", "x" * 1_000_000)
    kept = [key for buckets in vars(rates)["_full_at"].values() for key in buckets]
    assert len(kept) <= 16_384 + 2
    assert max(map(len, kept)) <= 256
    assert each_us < 50  # a microsecond or two where nothing else runs


async def test_every_door_counts_its_credential() -> None:
    """S14: the next request is refused with a time to come again; others are not, and nor is who has no credential."""
    limits = structs.replace(QUICK, requests_per_minute=5)
    async with house(limits) as place, place.client() as client, place.client("cid") as other:
        for _ in range(5):
            assert (await client.get("/api/me")).status_code == 200
        refused = await client.get("/api/me")
        assert (refused.status_code, code_of(refused)) == (429, "rate_limited")
        told = refused.json()["error"]["details"]["retry_after_s"]
        assert 1 <= told <= 12
        assert refused.headers["retry-after"] == str(told)
        assert (await other.get("/api/me")).status_code == 200
        assert (await client.get("/api/health")).status_code == 200


async def test_messages_are_counted_by_user_whichever_key_they_come_with() -> None:
    """S14: another key of the same user's does not help."""
    limits = structs.replace(QUICK, messages_per_minute=2)
    async with house(limits) as place, place.client() as client:
        session_id = await place.start_session(client)
        made = await client.post("/api/api-keys", json={"name": "second"})
        second = {"authorization": f"Bearer {made.json()['key']}"}
        url = f"/api/agent-sessions/{session_id}/message"
        assert (await client.post(url, json={"content": "1"})).status_code == 202
        assert (await client.post(url, json={"content": "2"}, headers=second)).status_code == 202
        refused = await client.post(url, json={"content": "3"}, headers=second)
        assert (refused.status_code, code_of(refused)) == (429, "rate_limited")
        page = await place.store.list_messages("default", "ann", session_id)
        assert len(page.items) == 2


async def test_wrong_keys_are_not_looked_up_for_ever_and_forged_headers_do_not_help() -> None:
    """S14, R2: an address that guesses is refused; somebody there with a good key is not shut out."""
    limits = structs.replace(QUICK, bad_keys_per_minute=3)
    async with house(limits) as place, place.client(None) as guesser, place.client() as client:
        assert (await client.get("/api/me")).status_code == 200
        for number in range(3):
            wrong = {"authorization": f"Bearer agio_{number:043d}", "x-forwarded-for": f"198.51.100.{number}"}
            assert (await guesser.get("/api/me", headers=wrong)).status_code == 401
        for number in range(3, 9):
            wrong = {
                "authorization": f"Bearer agio_{number:043d}",
                "x-forwarded-for": f"198.51.100.{number}",
                "forwarded": f"for=198.51.100.{number}",
                "x-real-ip": f"198.51.100.{number}",
            }
            assert (await guesser.get("/api/me", headers=wrong)).status_code == 429
        assert (await client.get("/api/me")).status_code == 200
