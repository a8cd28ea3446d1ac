"""Passwords: stored as Argon2id hashes, computed in two threads of their own.

A check is slow and uses much memory on purpose. Every attempt is checked, against a dummy hash if the account does not
exist, so that timing does not reveal which accounts exist.
"""

import asyncio
import functools
import secrets
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from agio.core.identity.email import fold_email
from agio.errors import LimitExceeded, UserError

if TYPE_CHECKING:
    from argon2 import PasswordHasher

T = TypeVar("T")

MIN_CHARS = 12
MAX_CHARS = 1024
_AT_ONCE = 2
_WAITING = 32
"""More are refused: a flood must not block other sign-ins for minutes."""
_FEWEST_DIFFERENT = 5
"""A password with fewer distinct characters is a pattern."""
# fmt: off
_COMMON = frozenset({
    "123456789012", "1234567890123", "12345678901234", "123456789123", "012345678901", "098765432109",
    "112233445566", "121212121212", "123123123123", "123412341234", "1q2w3e4r5t6y", "1q2w3e4r5t6y7u",
    "1qaz2wsx3edc", "1qazxsw23edc", "abc123abc123", "abcd1234abcd", "abcdefghijkl", "abcdefghijklm",
    "administrator", "admin123admin", "adminadmin12", "adminadminadmin", "administrator1", "asdfghjkl123",
    "asdfghjklqwe", "changeme1234", "changemeplease", "correcthorsebatterystaple", "default12345", "football1234",
    "iloveyou1234", "iloveyouforever", "letmein12345", "letmeinletmein", "liverpool123", "manchester12",
    "monkeymonkey", "mypassword12", "mypassword123", "passw0rd1234", "password1234", "password12345",
    "password123456", "passwordpassword", "p@ssw0rd1234", "p@ssword1234", "princess1234", "qazwsxedcrfv",
    "qwerty123456", "qwerty1234567", "qwertyqwerty", "qwertyuiop12", "qwertyuiop123", "qwertyuiopas",
    "qwertyuiopasdf", "sunshine1234", "superman1234", "trustno1trustno1", "welcome12345", "welcome123456",
    "zaq12wsxcde3", "zxcvbnm12345", "zxcvbnmasdfg",
})
# fmt: on


def check_new_password(password: str, email: str) -> None:
    """Raise UserError `weak_password` for a password that is easy to guess."""
    plain = _normal(password)
    folded = plain.casefold()
    if len(plain) < MIN_CHARS:
        raise _weak(f"it must have at least {MIN_CHARS} characters")
    if len(plain) > MAX_CHARS:
        raise _weak(f"it must have at most {MAX_CHARS} characters")
    if fold_email(folded) in (fold_email(email), fold_email(email).partition("@")[0]):
        raise _weak("it must not be your email address")
    if folded in _COMMON:
        raise _weak("it is too common")
    if len(set(folded)) < _FEWEST_DIFFERENT:
        raise _weak("it repeats the same few characters")


class Passwords:
    """Computes and checks hashes. A hash with outdated costs is replaced at the next sign-in."""

    def __init__(self, *, memory_kib: int = 64 * 1024, passes: int = 3) -> None:
        self._memory_kib = memory_kib
        self._passes = passes
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="agio-password")
        self._asked = 0
        self.verified = 0
        """The number of checks so far."""

    async def hash(self, password: str) -> str:
        """Return the hash of a password."""
        return await self._in_thread(lambda: self._hasher.hash(_bytes(password)))

    async def verify(self, kept: str | None, password: str) -> bool:
        """Whether a password matches the stored hash; never for None, which stands for a missing account."""
        return await self._in_thread(lambda: self._verify(kept, password))

    def is_outdated(self, kept: str) -> bool:
        """Whether a hash has other costs than the current ones."""
        return self._hasher.check_needs_rehash(kept)

    def _verify(self, kept: str | None, password: str) -> bool:
        from argon2.exceptions import InvalidHashError, VerificationError

        self.verified += 1
        try:
            same = self._hasher.verify(self._dummy_hash if kept is None else kept, _bytes(password))
        except (VerificationError, InvalidHashError):
            return False
        return same and kept is not None

    @functools.cached_property
    def _hasher(self) -> "PasswordHasher":
        from argon2 import PasswordHasher

        return PasswordHasher(time_cost=self._passes, memory_cost=self._memory_kib, parallelism=1)

    @functools.cached_property
    def _dummy_hash(self) -> str:
        """The hash of a random password."""
        return self._hasher.hash(secrets.token_bytes(32))

    async def _in_thread(self, work: Callable[[], T]) -> T:
        """Raises LimitExceeded `rate_limited` while too many wait."""
        if self._asked >= _AT_ONCE + _WAITING:
            raise LimitExceeded(
                "rate_limited",
                "Too many sign-ins at once. Try again in 5 s.",
                {"retry_after_s": 5},
            )
        self._asked += 1
        done = asyncio.get_running_loop().run_in_executor(self._threads, work)
        done.add_done_callback(self._answered)
        return await done

    def _answered(self, _: object) -> None:
        self._asked -= 1


def _normal(password: str) -> str:
    """Normalise a password (NFKC), so that it does not depend on the keyboard."""
    return unicodedata.normalize("NFKC", password)


def _bytes(password: str) -> bytes:
    return _normal(password).encode("utf-8", "surrogatepass")


def _weak(why: str) -> UserError:
    return UserError("weak_password", f"This password cannot be used: {why}.")
