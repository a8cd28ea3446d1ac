"""Drafts and the profile by REST."""

from pathlib import Path

import pytest

from agio.core.draft import DraftWrite
from tests.integration.gateway.workshop import workshop
from tests.support.house import code_of, house


async def test_drafts_are_read_in_all_their_versions() -> None:
    """S12: the newest with its content, the list without, each version by its number."""
    async with house() as place, place.client() as client:
        for content in ("one", {"two": [2]}):
            made = await place.store.write_draft(
                "default", "ann", DraftWrite(key="plan", title="Plan", kind="plan", content=content)
            )
        [listed] = (await client.get("/api/drafts", params={"kind": "plan"})).json()["items"]
        assert (listed["id"], listed["version"], "content" in listed) == (made.id, 2, False)
        assert (await client.get("/api/drafts", params={"kind": "email"})).json()["items"] == []
        draft = (await client.get(f"/api/drafts/{made.id}")).json()
        assert (draft["content"], draft["key"], draft["title"]) == ({"two": [2]}, "plan", "Plan")
        page = (await client.get(f"/api/drafts/{made.id}/versions", params={"limit": 1})).json()
        rest = await client.get(f"/api/drafts/{made.id}/versions", params={"after": page["next"]})
        assert [item["version"] for item in (*page["items"], *rest.json()["items"])] == [2, 1]
        first = (await client.get(f"/api/drafts/{made.id}/versions/1")).json()
        assert (first["version"], first["content"]) == (1, "one")
        missing = await client.get(f"/api/drafts/{made.id}/versions/3")
        assert (missing.status_code, code_of(missing)) == (404, "version_not_found")
        assert (await client.delete(f"/api/drafts/{made.id}")).status_code == 204
        gone = await client.get(f"/api/drafts/{made.id}")
        assert (gone.status_code, code_of(gone)) == (404, "draft_not_found")


async def test_a_draft_that_cannot_be_kept_is_an_error_result(tmp_path: Path) -> None:
    """S12: keys, titles and sizes have limits, told to whoever writes."""
    async with workshop(tmp_path) as shop:
        good = {"key": "plan", "title": "Plan", "content": "..."}
        stored = (await shop.execute("store_draft_content", good)).json()
        assert '"version":1' in stored["content"], stored
        for change, code in (
            ({"key": "../x y"}, "invalid_draft"),
            ({"content": "x" * 300_000}, "invalid_draft"),
            ({"kind": "No Kind"}, "bad_arguments"),
            ({"title": ""}, "bad_arguments"),
            ({"content": 5}, "bad_arguments"),
        ):
            refused = (await shop.execute("store_draft_content", {**good, **change})).json()
            assert refused["error"]["code"] == code, (change, refused)
        [draft] = (await shop.client.get("/api/drafts")).json()["items"]
        assert draft["version"] == 1


async def test_a_profile_is_read_and_changed() -> None:
    """R11: by the user themselves; each has their own."""
    async with house() as place, place.client() as client, place.client("cid") as other:
        empty: dict[str, object] = {"fields": {}, "version": 0, "updated_at": None}
        assert (await client.get("/api/profile")).json() == empty
        changed = await client.patch("/api/profile", json={"changes": {"name": "Ann", "language": "de"}})
        assert changed.json()["fields"] == {"name": "Ann", "language": "de"}
        removed = (await client.patch("/api/profile", json={"changes": {"name": None}})).json()
        assert (removed["fields"], removed["version"]) == ({"language": "de"}, 2)
        assert (await client.get("/api/profile")).json() == removed
        assert (await other.get("/api/profile")).json() == empty


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"No": "x"}, "invalid_profile"),
        ({"name": "x" * 2001}, "invalid_profile"),
        ({f"f{number}": "x" for number in range(51)}, "invalid_profile"),
        ({}, "invalid_body"),
        ({"name": 5}, "invalid_body"),
    ],
)
async def test_a_profile_that_cannot_be_is_refused(changes: dict[str, object], code: str) -> None:
    """R11: with a code, and nothing changes."""
    async with house() as place, place.client() as client:
        refused = await client.patch("/api/profile", json={"changes": changes})
        assert (refused.status_code, code_of(refused)) == (422, code)
        assert (await client.get("/api/profile")).json()["version"] == 0
