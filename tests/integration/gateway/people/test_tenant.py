"""A team over HTTP: how long it keeps sessions, and who may say so."""

import pytest

from agio.core.identity.principal import Role
from tests.support.house import code_of, house


@pytest.mark.parametrize("role", ["owner", "admin"])
async def test_an_owner_or_an_admin_says_how_long_sessions_are_kept(role: Role) -> None:
    """C5: for the own team alone; `null` is for ever."""
    async with house() as place:
        await place.store.add_user("default", "olga", "Olga", role)
        await place.add("olga", "default")
        async with place.client("olga") as olga, place.client() as ann, place.client("bob") as bob:
            kept = {"id": "default", "name": "Default", "retention_days": 30, "sdk_sessions": "build"}
            changed = await olga.patch("/api/tenant", json={"retention_days": 30})
            assert (changed.status_code, changed.json()) == (200, kept)
            assert (await ann.get("/api/tenant")).json() == kept
            assert (await bob.get("/api/tenant")).json()["retention_days"] is None
            for_ever = await olga.patch("/api/tenant", json={"retention_days": None})
            assert for_ever.json() == {**kept, "retention_days": None}
            for days in (0, -1, 36_501, 1.5, "30", True):
                refused = await olga.patch("/api/tenant", json={"retention_days": days})
                assert (refused.status_code, code_of(refused)) == (422, "invalid_body"), days
            assert (await olga.patch("/api/tenant", json={"retention_days": 36_500})).status_code == 200


async def test_a_member_may_not_say_how_long_sessions_are_kept() -> None:
    """C5: 403 with a code, and nothing has changed."""
    async with house() as place:
        await place.store.add_user("default", "mia", "Mia", "member")
        await place.add("mia", "default")
        client = place.client("mia")
        refused = await client.patch("/api/tenant", json={"retention_days": 1})
        assert (refused.status_code, code_of(refused)) == (403, "forbidden")
        assert (await client.get("/api/tenant")).json()["retention_days"] is None


async def test_describing_an_agent_for_a_session_is_a_permission_of_the_team() -> None:
    """S9: builders may give an SDK session a prompt and a model; members once the team's setting says so."""
    described = {"agent_name": "Guide", "instructions": "Be kind.", "model": "demo:demo"}
    changed = {"session_id": "mine", "user_input": "Hi", "agent": {"instructions": "Be rude."}}
    async with house() as place:
        await place.store.add_user("default", "mia", "Mia", "member")
        await place.add("mia", "default")
        async with place.client() as ann, place.client("mia") as mia:
            own = {**described, "session_id": "mine"}
            assert (await ann.post("/api/sdk/session/create", json=described)).status_code == 200
            refused = await mia.post("/api/sdk/session/create", json=own)
            assert (refused.status_code, code_of(refused)) == (403, "forbidden")
            assert (await mia.patch("/api/tenant", json={"sdk_sessions": "use"})).status_code == 403
            opened = await ann.patch("/api/tenant", json={"sdk_sessions": "use"})
            assert opened.json()["sdk_sessions"] == "use"
            assert (await mia.post("/api/sdk/session/create", json=own)).status_code == 200
            await ann.patch("/api/tenant", json={"sdk_sessions": "build"})
            assert (await mia.post("/api/sdk/session/create", json=own)).status_code == 200, (
                "her own, unchanged"
            )
            refused = await mia.post("/api/sdk/session/message", json=changed)
            assert (refused.status_code, code_of(refused)) == (403, "forbidden")
            for wrong in (None, "own", "manage", 1):
                assert code_of(await ann.patch("/api/tenant", json={"sdk_sessions": wrong})) == "invalid_body"
