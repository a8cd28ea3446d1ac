"""The vault: what is sealed opens as what it was sealed as, with the key it was sealed with, and in no other way."""

import base64
import logging
import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from pathlib import Path

import pytest
from msgspec import structs

from agio.core.provider import ProviderFields, Sealed, SecretPlace
from agio.db.repository import open_store
from agio.errors import StoreError, UserError
from agio.server.stores import check_secrets, open_vault
from agio.vault import KEY_FILE, Vault, key_file, key_id, load_keys

OLD, NEW = b"o" * 32, b"n" * 32
SECRET = "sk-canary-1234567890"
PLACE = SecretPlace("acme", "prv_1", "api_key")


def test_a_secret_opens_where_it_was_sealed() -> None:
    """C4: sealing and opening are each other's reverse, and no two seals are alike."""
    vault = Vault([NEW])
    first, second = vault.seal(PLACE, SECRET), vault.seal(PLACE, SECRET)
    assert vault.open(PLACE, first) == vault.open(PLACE, second) == SECRET
    assert first.key_id == vault.current_key_id == key_id(NEW)
    assert first.data != second.data
    assert SECRET.encode() not in first.data
    assert vault.open(PLACE, vault.seal(PLACE, "")) == ""
    assert vault.open(PLACE, vault.seal(PLACE, "clé 🔑")) == "clé 🔑"


@pytest.mark.parametrize(("one", "other"), list(permutations(["acme", "prv_1", "api_key"], 2)))
def test_a_swapped_place_does_not_open(one: str, other: str) -> None:
    """C4: six swaps, of tenant, owner and field with each other's values: none opens."""
    vault = Vault([NEW])
    place = PLACE
    for name, value in structs.asdict(PLACE).items():
        if value == one:
            place = structs.replace(PLACE, **{name: other})
    assert place != PLACE
    with pytest.raises(StoreError, match="secret_unreadable"):
        vault.open(place, vault.seal(PLACE, SECRET))
    with pytest.raises(StoreError, match="secret_unreadable"):
        vault.open(PLACE, vault.seal(place, SECRET))


def test_places_that_read_alike_are_not_alike() -> None:
    """C4: where one name ends and the next begins is part of the place."""
    vault = Vault([NEW])
    sealed = vault.seal(SecretPlace("ab", "c", "d"), SECRET)
    for place in (SecretPlace("a", "bc", "d"), SecretPlace("ab", "", "cd"), SecretPlace("abc", "", "d")):
        with pytest.raises(StoreError, match="secret_unreadable"):
            vault.open(place, sealed)


def test_damaged_data_does_not_open() -> None:
    """C4: every bit counts, and so does the length."""
    vault = Vault([NEW])
    sealed = vault.seal(PLACE, SECRET)
    damaged = [sealed.data[:size] for size in range(len(sealed.data))]
    damaged += [sealed.data + b"\0", b"", os.urandom(len(sealed.data))]
    for index in range(len(sealed.data)):
        for bit in range(8):
            flipped = bytearray(sealed.data)
            flipped[index] ^= 1 << bit
            damaged.append(bytes(flipped))
    for data in damaged:
        with pytest.raises(StoreError, match="secret_unreadable"):
            vault.open(PLACE, Sealed(sealed.key_id, data))


def test_all_keys_open_and_the_first_seals() -> None:
    """C4: a list of master keys is a rotation under way."""
    old = Vault([OLD]).seal(PLACE, SECRET)
    both = Vault([NEW, OLD])
    assert both.open(PLACE, old) == SECRET
    assert both.seal(PLACE, SECRET).key_id == key_id(NEW) != key_id(OLD)
    assert both.knows(old.key_id)
    new = Vault([NEW])
    assert not new.knows(old.key_id)
    with pytest.raises(StoreError, match="secret_unreadable"):
        new.open(PLACE, old)
    with pytest.raises(StoreError, match="secret_unreadable"):
        new.open(PLACE, Sealed(new.current_key_id, old.data))


def test_nothing_that_is_said_gives_a_secret_away() -> None:
    """C4: neither a refusal nor a representation has the secret, the data or the key."""
    vault = Vault([NEW])
    sealed = vault.seal(PLACE, SECRET)
    with pytest.raises(StoreError) as refused:
        vault.open(structs.replace(PLACE, tenant="other"), sealed)
    said = f"{refused.value!r} {refused.value} {refused.value.details} {vault!r} {refused.value.__cause__}"
    assert "AGIO_SECRET_KEY" in refused.value.message
    for hidden in (SECRET, repr(sealed.data)[2:-1], sealed.data.hex(), repr(NEW)[2:-1], NEW.hex()):
        assert hidden not in said


def _base64(key: bytes) -> str:
    return base64.b64encode(key).decode()


def _urlsafe(key: bytes) -> str:
    return base64.urlsafe_b64encode(key).decode()


@pytest.mark.parametrize("spell", [bytes.hex, _base64, _urlsafe])
def test_keys_are_read_in_hex_and_base64(spell: Callable[[bytes], str]) -> None:
    """C4: a list of keys, however they are spelt, and with what shells leave around them."""
    keys = [bytes(range(224, 256)), os.urandom(32)]
    words = [spell(key) for key in keys]
    assert load_keys(" , ".join(words) + "\n") == keys
    assert load_keys(",".join(word.rstrip("=") for word in words)) == keys
    assert load_keys(f"{words[0]},{words[0]}") == keys[:1]


@pytest.mark.parametrize("text", ["", ",", "secret", "0" * 63, "0" * 66, "z" * 64, "A" * 44, "ä" * 32])
def test_what_is_no_key_is_refused_with_a_way_to_make_one(text: str) -> None:
    """C4: a typo must not become a key; the refusal does not repeat it."""
    good = OLD.hex()
    for given in (text, f"{good},{text}"):
        with pytest.raises(UserError, match="invalid_setting") as refused:
            load_keys(given)
        assert "secrets.token_hex(32)" in refused.value.message
        assert good not in refused.value.message
        assert len(text) < 10 or text not in refused.value.message


def test_a_key_file_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    """C4: embedded, a key is generated into the data folder with mode 0600, whole, whoever asks at once."""
    path = tmp_path / "data" / KEY_FILE
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(key_file, [path] * 8))
    assert all(keys == made[0] for keys in made)
    assert len(made[0]) == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]
    path.write_text(f"{OLD.hex()}\n{NEW.hex()}\n")
    assert key_file(path) == [OLD, NEW]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_key_file_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    """C4: the refusal says what to do."""
    path = tmp_path / KEY_FILE
    key_file(path)
    path.chmod(mode)
    with pytest.raises(UserError, match="insecure_key_file") as refused:
        key_file(path)
    assert f"chmod 600 {path}" in refused.value.message
    path.chmod(0o600)
    assert key_file(path)


def test_a_damaged_key_file_is_neither_used_nor_replaced(tmp_path: Path) -> None:
    """C4: a new key in its place would lose what the old one sealed."""
    path = tmp_path / KEY_FILE
    for content in (b"", b"half a key", b"\xff\xfe"):
        path.write_bytes(content)
        path.chmod(0o600)
        with pytest.raises((UserError, StoreError)):
            key_file(path)
        assert path.read_bytes() == content


async def test_a_store_in_a_file_has_a_key_and_a_shared_one_needs_the_operators(tmp_path: Path) -> None:
    """C4: keys of the environment come first, those of the file still open."""
    store = await open_store(":memory:")
    assert await open_vault("postgresql://localhost/agio", [], store) is None
    shared = await open_vault("postgresql://localhost/agio", [NEW], store)
    assert shared is not None
    assert shared.current_key_id == key_id(NEW)
    given = await open_vault(tmp_path / "agio.db", [NEW], store)
    assert given is not None
    assert not (tmp_path / KEY_FILE).exists()
    made = await open_vault(tmp_path / "agio.db", [], store)
    both = await open_vault(tmp_path / "agio.db", [NEW], store)
    await store.close()
    assert made is not None
    assert both is not None
    assert both.current_key_id == key_id(NEW)
    assert both.open(PLACE, made.seal(PLACE, SECRET)) == SECRET


async def test_no_new_key_is_made_for_a_store_whose_key_is_missing(tmp_path: Path) -> None:
    """C4: a restored store asks for its key; a key of the operator's lets it begin all the same."""
    store = await open_store(":memory:")
    key = Vault([OLD]).seal(SecretPlace("default", "prv_1", "api_key"), SECRET)
    await store.create_provider("default", "prv_1", ProviderFields(name="a", kind="openai"), key)
    with pytest.raises(UserError, match="no_secret_key"):
        await open_vault(tmp_path / "agio.db", [], store)
    assert not (tmp_path / KEY_FILE).exists()
    assert await open_vault(tmp_path / "agio.db", [NEW], store) is not None
    await store.close()


async def test_a_missing_master_key_is_told_at_the_start(caplog: pytest.LogCaptureFixture) -> None:
    """C4: the log names the key's id and how many secrets need it."""
    store = await open_store(":memory:")
    vault = Vault([OLD])
    key = vault.seal(SecretPlace("default", "prv_1", "api_key"), SECRET)
    await store.create_provider("default", "prv_1", ProviderFields(name="a", kind="openai"), key)
    with caplog.at_level(logging.WARNING):
        await check_secrets(store, vault)
        assert not caplog.records
        await check_secrets(store, Vault([NEW]))
        await check_secrets(store, None)
    await store.close()
    assert [record.getMessage().startswith("1 stored secrets") for record in caplog.records] == [True, True]
    assert all(key_id(OLD) in record.getMessage() for record in caplog.records)
