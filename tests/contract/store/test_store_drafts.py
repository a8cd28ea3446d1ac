"""Drafts and profiles: what agents write for a user, and what a user says of themselves."""

import asyncio

import pytest

from agio.core.draft import DraftWrite
from agio.core.profile import Profile
from agio.core.store.store import Store
from agio.errors import UserError
from tests.support.scenes import person


def draft(key: str = "plan", title: str = "A plan", content: object = "one", **more: str) -> DraftWrite:
    return DraftWrite(key=key, title=title, kind=more.pop("kind", "document"), content=content, **more)


async def test_the_same_key_is_the_same_draft_and_every_version_is_kept(store: Store) -> None:
    """S12: a version is added, the newest is shown, the old ones can be read."""
    await person(store)
    first = await store.write_draft("default", "local", draft(content={"a": [1, None, "ü"]}, run_id="run_1"))
    second = await store.write_draft("default", "local", draft(title="Better", kind="table", content="two"))
    assert (first.version, second.version, first.id) == (1, 2, second.id)
    record, newest = await store.get_draft("default", "local", first.id)
    assert record == second
    assert (record.title, record.kind, record.key) == ("Better", "table", "plan")
    assert (newest.version, newest.content) == (2, "two")
    old = await store.get_draft_version("default", "local", first.id, 1)
    assert (old.title, old.content, old.run_id, old.session_id) == (
        "A plan",
        {"a": [1, None, "ü"]},
        "run_1",
        None,
    )
    versions = await store.list_draft_versions("default", "local", first.id)
    assert [version.version for version in versions.items] == [2, 1]
    with pytest.raises(UserError) as missing:
        await store.get_draft_version("default", "local", first.id, 3)
    assert missing.value.code == "version_not_found"


async def test_the_same_call_writes_once_however_often_it_is_tried(store: Store) -> None:
    """S12: also at the same time, and it is told the version it wrote."""
    await person(store)
    tries = [store.write_draft("default", "local", draft(call_id="call_1")) for _ in range(20)]
    written = await asyncio.gather(*tries)
    assert {record.version for record in written} == {1}
    await store.write_draft("default", "local", draft(call_id="call_2", content="two"))
    again = await store.write_draft("default", "local", draft(call_id="call_1", content="other"))
    assert again.version == 1
    assert (await store.get_draft("default", "local", again.id))[1].content == "two"


async def test_writers_at_the_same_time_get_versions_of_their_own(store: Store) -> None:
    """S12: none is lost."""
    await person(store)
    written = await asyncio.gather(
        *(store.write_draft("default", "local", draft(content=number)) for number in range(20))
    )
    assert sorted(record.version for record in written) == list(range(1, 21))


async def test_drafts_are_listed_newest_first_by_kind_and_in_pages(store: Store) -> None:
    """S12: lists end, and go on where they were left."""
    await person(store)
    for number in range(5):
        await store.write_draft("default", "local", draft(f"k{number}", kind="odd" if number % 2 else "even"))
    page = await store.list_drafts("default", "local", limit=3)
    rest = await store.list_drafts("default", "local", limit=3, after=page.next)
    keys = [record.key for record in (*page.items, *rest.items)]
    assert sorted(keys) == ["k0", "k1", "k2", "k3", "k4"]
    assert (len(page.items), rest.next) == (3, None)
    odd = await store.list_drafts("default", "local", kind="odd")
    assert {record.key for record in odd.items} == {"k1", "k3"}
    with pytest.raises(UserError) as refused:
        await store.list_drafts("default", "local", after="nonsense")
    assert refused.value.code == "invalid_cursor"


async def test_versions_are_listed_in_pages(store: Store) -> None:
    """S12: however many there are."""
    await person(store)
    made = await store.write_draft("default", "local", draft(content=0))
    for number in range(1, 5):
        await store.write_draft("default", "local", draft(content=number))
    seen: list[int] = []
    after: str | None = None
    for _ in range(3):
        page = await store.list_draft_versions("default", "local", made.id, after=after, limit=2)
        seen += [version.version for version in page.items]
        after = page.next
    assert (seen, after) == ([5, 4, 3, 2, 1], None)


async def test_a_deleted_draft_is_gone_and_its_key_begins_anew(store: Store) -> None:
    """S12: with its versions."""
    await person(store)
    made = await store.write_draft("default", "local", draft(call_id="call_1"))
    await store.delete_draft("default", "local", made.id)
    for asked in (
        store.get_draft("default", "local", made.id),
        store.list_draft_versions("default", "local", made.id),
        store.get_draft_version("default", "local", made.id, 1),
        store.delete_draft("default", "local", made.id),
    ):
        with pytest.raises(UserError) as refused:
            await asked
        assert refused.value.code == "draft_not_found"
    assert (await store.write_draft("default", "local", draft())).version == 1


async def test_drafts_are_their_users_own(store: Store) -> None:
    """S14: not of another user, not of another tenant, and the same key is another draft."""
    await person(store)
    await person(store, "default", "ben")
    await person(store, "other", "local")
    made = await store.write_draft("default", "local", draft())
    for tenant, user in (("default", "ben"), ("other", "local")):
        assert (await store.list_drafts(tenant, user)).items == []
        for asked in (
            store.get_draft(tenant, user, made.id),
            store.list_draft_versions(tenant, user, made.id),
            store.get_draft_version(tenant, user, made.id, 1),
            store.delete_draft(tenant, user, made.id),
        ):
            with pytest.raises(UserError) as refused:
                await asked
            assert refused.value.code == "draft_not_found"
        assert (await store.write_draft(tenant, user, draft())).id != made.id


async def test_a_profile_is_empty_until_it_is_written(store: Store) -> None:
    """R11: fields are set and removed, the others stay, each change is a version."""
    await person(store)
    assert await store.get_profile("default", "local") == Profile({}, 0, None)
    first = await store.put_profile("default", "local", {"name": "Ann", "about": "Ä"})
    assert (first.fields, first.version) == ({"name": "Ann", "about": "Ä"}, 1)
    second = await store.put_profile("default", "local", {"about": None, "language": "de"})
    assert (second.fields, second.version) == ({"name": "Ann", "language": "de"}, 2)
    assert await store.get_profile("default", "local") == second
    assert await store.put_profile("default", "local", {"language": "de", "missing": None}) == second


async def test_changes_at_the_same_time_are_all_kept(store: Store) -> None:
    """R11: nobody overwrites what somebody else has just written."""
    await person(store)
    await asyncio.gather(
        *(store.put_profile("default", "local", {f"f{number}": "x"}) for number in range(20))
    )
    profile = await store.get_profile("default", "local")
    assert (len(profile.fields), profile.version) == (20, 20)


@pytest.mark.parametrize(
    "changes",
    [
        {"": "x"},
        {"Name": "x"},
        {"1a": "x"},
        {"a b": None},
        {"a" * 65: "x"},
        {"name": "x" * 2001},
        {f"f{number}": "x" for number in range(51)},
        {f"f{number}": "ü" * 1500 for number in range(20)},
    ],
)
async def test_a_profile_has_its_limits(store: Store, changes: dict[str, str | None]) -> None:
    """R11: names, lengths, their number and all of it together; what is refused changes nothing."""
    await person(store)
    with pytest.raises(UserError) as refused:
        await store.put_profile("default", "local", changes)
    assert refused.value.code == "invalid_profile"
    assert await store.get_profile("default", "local") == Profile({}, 0, None)


async def test_a_profile_is_its_users_own(store: Store) -> None:
    """S14: not of another user, not of another tenant."""
    await person(store)
    await person(store, "default", "ben")
    await person(store, "other", "local")
    await store.put_profile("default", "local", {"name": "Ann"})
    assert (await store.get_profile("default", "ben")).fields == {}
    assert (await store.get_profile("other", "local")).fields == {}
