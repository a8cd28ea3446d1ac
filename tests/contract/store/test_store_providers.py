"""Providers and sealed secrets are kept alike on every store."""

import asyncio

import pytest
from msgspec import structs

from agio.core.provider import KEY_FIELD, ProviderFields, ProviderRecord, Sealed, SecretPlace
from agio.core.store.store import Store
from agio.errors import UserError
from tests.support.scenes import person

KEY = Sealed("11111111", b"\x01sealed")
OTHER = Sealed("22222222", b"\x01other")


def fields(name: str = "acme", **given: object) -> ProviderFields:
    return structs.replace(
        ProviderFields(name=name, kind="openai-chat", base_url="https://models.example/v1", models=["small"]),
        **given,
    )


async def test_a_provider_is_kept_as_it_was_given(store: Store) -> None:
    """R12: name, kind, address and models come back, and that there is a key."""
    made = await store.create_provider("default", "prv_1", fields(), KEY)
    assert (made.id, made.tenant, made.name, made.kind) == ("prv_1", "default", "acme", "openai-chat")
    assert (made.base_url, made.models, made.has_key) == ("https://models.example/v1", ["small"], True)
    assert await store.get_provider("default", "prv_1") == made
    assert await store.find_provider("default", "acme") == (made, KEY)
    bare = await store.create_provider("default", "prv_2", fields("aaa", base_url=None, models=[]), None)
    assert (bare.base_url, bare.models, bare.has_key) == (None, [], False)
    assert await store.find_provider("default", "aaa") == (bare, None)
    assert await store.list_providers("default") == [bare, made]


async def test_a_name_is_taken_once_in_a_tenant(store: Store) -> None:
    """R12: a second provider of a name is refused, also by renaming; another tenant may have it."""
    await person(store, "other", "bob")
    await store.create_provider("default", "prv_1", fields(), KEY)
    await store.create_provider("default", "prv_2", fields("second"), None)
    with pytest.raises(UserError, match="provider_exists"):
        await store.create_provider("default", "prv_3", fields(), OTHER)
    with pytest.raises(UserError, match="provider_exists"):
        await store.update_provider("default", "prv_2", fields(), OTHER)
    assert await store.secrets_of("default", "prv_2") == {}
    assert await store.secrets_of("default", "prv_3") == {}
    assert (await store.create_provider("other", "prv_4", fields(), None)).tenant == "other"


async def test_a_change_keeps_replaces_or_removes_the_key(store: Store) -> None:
    """C4: what is said of the key decides, and nothing else."""
    await store.create_provider("default", "prv_1", fields(), KEY)
    kept = await store.update_provider("default", "prv_1", fields("renamed"), "keep")
    assert (kept.name, kept.has_key) == ("renamed", True)
    assert await store.find_provider("default", "acme") is None
    place = SecretPlace("default", "prv_1", KEY_FIELD)
    assert await store.get_secret(place) == KEY
    assert (await store.update_provider("default", "prv_1", fields(), OTHER)).has_key
    assert await store.get_secret(place) == OTHER
    assert not (await store.update_provider("default", "prv_1", fields(), None)).has_key
    assert await store.get_secret(place) is None


async def test_a_deleted_provider_takes_its_key_along(store: Store) -> None:
    """C4: no row of a secret outlives what it belongs to."""
    await store.create_provider("default", "prv_1", fields(), KEY)
    await store.create_provider("default", "prv_2", fields("other"), KEY)
    await store.delete_provider("default", "prv_1")
    assert await store.count_secrets() == {KEY.key_id: 1}
    with pytest.raises(UserError, match="provider_not_found"):
        await store.get_provider("default", "prv_1")
    with pytest.raises(UserError, match="provider_not_found"):
        await store.delete_provider("default", "prv_1")
    with pytest.raises(UserError, match="provider_not_found"):
        await store.update_provider("default", "prv_1", fields(), KEY)
    assert await store.secrets_of("default", "prv_1") == {}


async def test_another_tenant_finds_nothing(store: Store) -> None:
    """S14: a foreign provider is not found, and its key stays as it is."""
    await person(store, "other", "bob")
    made = await store.create_provider("default", "prv_1", fields(), KEY)
    assert await store.list_providers("other") == []
    assert await store.find_provider("other", "acme") is None
    assert await store.get_secret(SecretPlace("other", "prv_1", KEY_FIELD)) is None
    for attempt in (
        store.get_provider("other", "prv_1"),
        store.update_provider("other", "prv_1", fields(), None),
        store.delete_provider("other", "prv_1"),
    ):
        with pytest.raises(UserError, match="provider_not_found"):
            await attempt
    assert await store.find_provider("default", "acme") == (made, KEY)


async def test_secrets_of_an_old_key_are_found_in_order_and_replaced(store: Store) -> None:
    """C4: rotation goes through the places one after another, over all tenants."""
    await person(store, "other", "bob")
    for tenant, provider, key in [
        ("default", "prv_1", KEY),
        ("default", "prv_2", OTHER),
        ("default", "prv_3", KEY),
        ("other", "prv_4", KEY),
    ]:
        await store.create_provider(tenant, provider, fields(provider), key)
    places = [
        SecretPlace(tenant, provider, KEY_FIELD)
        for tenant, provider in [("default", "prv_1"), ("default", "prv_3"), ("other", "prv_4")]
    ]
    assert await store.secrets_to_rotate(OTHER.key_id, None, 2) == [(place, KEY) for place in places[:2]]
    assert await store.secrets_to_rotate(OTHER.key_id, places[1], 2) == [(places[2], KEY)]
    assert await store.count_secrets() == {KEY.key_id: 3, OTHER.key_id: 1}
    new = Sealed(OTHER.key_id, b"\x01anew")
    assert await store.replace_secrets([(place, KEY, new) for place in places]) == 3
    assert await store.secrets_to_rotate(OTHER.key_id, None, 10) == []
    assert await store.get_secret(places[0]) == new


async def test_a_secret_that_changed_meanwhile_is_not_replaced(store: Store) -> None:
    """C4: whoever enters a new key while the old one is being rotated has the last word."""
    await store.create_provider("default", "prv_1", fields(), KEY)
    place = SecretPlace("default", "prv_1", KEY_FIELD)
    await store.update_provider("default", "prv_1", fields(), OTHER)
    assert await store.replace_secrets([(place, KEY, Sealed("33333333", b"late"))]) == 0
    assert await store.get_secret(place) == OTHER
    await store.delete_provider("default", "prv_1")
    assert await store.replace_secrets([(place, OTHER, Sealed("33333333", b"late"))]) == 0
    assert await store.get_secret(place) is None


async def test_of_many_who_save_one_version_of_a_provider_one_wins(store: Store) -> None:
    """R12: the others are refused, and no key of theirs is kept."""
    made = await store.create_provider("default", "prv_1", fields(), KEY)
    saves = [
        store.update_provider(
            "default", "prv_1", fields(f"acme{who}"), Sealed("k1", b"%d" % who), made.updated_at
        )
        for who in range(20)
    ]
    told = await asyncio.gather(*saves, return_exceptions=True)
    [won] = [each for each in told if isinstance(each, ProviderRecord)]
    assert {each.code for each in told if isinstance(each, UserError)} == {"changed_elsewhere"}
    key = Sealed("k1", won.name.removeprefix("acme").encode())
    assert await store.find_provider("default", won.name) == (won, key)
    await store.update_provider("default", "prv_1", fields(), "keep", won.updated_at)
