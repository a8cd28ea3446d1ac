"""Providers over REST: list, create, replace, delete, and what is refused. A key goes in and never comes out."""

from ipaddress import IPv4Address
from typing import Any

import pytest

from agio.core.link.link import Greeting
from agio.core.provider import KEY_FIELD, SecretPlace
from agio.egress import Address, Egress
from agio.gateway.app import create_app
from agio.gateway.tools.endpoints import need_vault
from tests.support.engine import HandWorker, soon
from tests.support.house import AGENT, House, code_of, house

KEY = "sk-canary-0123456789abcdef"
PROVIDER: dict[str, object] = {
    "name": "acme",
    "kind": "openai-chat",
    "base_url": "https://models.example.com/v1",
    "api_key": KEY,
    "models": ["small", "large", "small"],
}
MINIMAL: dict[str, object] = {"name": "mine", "kind": "anthropic", "api_key": KEY}


async def _secret(place: House, provider_id: str) -> str | None:
    where = SecretPlace("default", provider_id, KEY_FIELD)
    sealed = await place.store.get_secret(where)
    return None if sealed is None else need_vault(place.gateway.vault).open(where, sealed)


async def test_a_provider_is_shown_without_its_key() -> None:
    """C4: no answer has the key, only that there is one; at rest it is sealed."""
    async with house() as place, place.client() as client:
        made = await client.post("/api/providers", json=PROVIDER)
        assert made.status_code == 201, made.text
        provider = made.json()
        assert (
            provider
            | {
                "name": "acme",
                "kind": "openai-chat",
                "source": "team",
                "base_url": "https://models.example.com/v1",
                "has_key": True,
                "models": ["small", "large"],
            }
            == provider
        )
        assert "api_key" not in provider
        got = await client.get(f"/api/providers/{provider['id']}")
        assert got.json() == provider
        listed = await client.get("/api/providers")
        assert listed.json()["items"][0] == provider
        assert await _secret(place, provider["id"]) == KEY
        for answered in (made, got, listed):
            assert KEY not in answered.text


async def test_a_key_is_kept_replaced_or_removed() -> None:
    """C4: left out it stays, given it is replaced, null removes it."""
    async with house() as place, place.client() as client:
        provider_id = (await client.post("/api/providers", json=PROVIDER)).json()["id"]
        path = f"/api/providers/{provider_id}"
        without = {name: value for name, value in PROVIDER.items() if name != "api_key"}
        kept = await client.put(path, json={**without, "name": "renamed", "models": []})
        assert (kept.json()["name"], kept.json()["has_key"], kept.json()["models"]) == ("renamed", True, [])
        assert await _secret(place, provider_id) == KEY
        assert (await client.put(path, json={**without, "api_key": "sk-other"})).json()["has_key"]
        assert await _secret(place, provider_id) == "sk-other"
        removed = await client.put(path, json={**without, "api_key": None})
        assert removed.status_code == 200
        assert removed.json()["has_key"] is False
        assert await _secret(place, provider_id) is None


async def test_a_key_does_not_follow_to_another_address() -> None:
    """C4: whoever changes the address must know the key: it is never sent where it was not entered for."""
    async with house() as place, place.client() as client:
        path = f"/api/providers/{(await client.post('/api/providers', json=PROVIDER)).json()['id']}"
        without = {name: value for name, value in PROVIDER.items() if name != "api_key"}
        before = (await client.get(path)).json()
        for change in (
            {"base_url": "https://thief.example.com/v1"},
            {"base_url": "https://models.example.com/other"},
            {"base_url": None},
        ):
            refused = await client.put(path, json={**without, **change})
            assert (refused.status_code, code_of(refused)) == (422, "api_key_required")
            assert (await client.get(path)).json() == before
        moved = await client.put(path, json={**PROVIDER, "base_url": "https://new.example.com"})
        assert moved.status_code == 200
        bare = await client.put(path, json={**without, "base_url": "https://x.example.com", "api_key": None})
        assert bare.status_code == 200
        assert (await client.put(path, json=without)).json()["base_url"] == PROVIDER["base_url"]


async def test_a_vendors_own_key_stays_with_its_vendor() -> None:
    """C4: both formats of OpenAI are one place; another vendor is another."""
    async with house() as place, place.client() as client:
        given = {"name": "own", "kind": "openai", "api_key": KEY}
        path = f"/api/providers/{(await client.post('/api/providers', json=given)).json()['id']}"
        assert (await client.put(path, json={"name": "own", "kind": "openai-chat"})).status_code == 200
        refused = await client.put(path, json={"name": "own", "kind": "gemini"})
        assert code_of(refused) == "api_key_required"


async def test_a_deleted_provider_is_gone_with_its_key() -> None:
    """C4: gone with its row."""
    async with house() as place, place.client() as client:
        provider_id = (await client.post("/api/providers", json=PROVIDER)).json()["id"]
        path = f"/api/providers/{provider_id}"
        assert (await client.delete(path)).status_code == 204
        assert await place.store.count_secrets() == {}
        for answered in (
            await client.get(path),
            await client.delete(path),
            await client.put(path, json=PROVIDER),
            await client.post(f"{path}/test", json={"model": "m"}),
        ):
            assert (answered.status_code, code_of(answered)) == (404, "provider_not_found")


async def test_a_name_is_taken_once() -> None:
    """R12: in one team; another may have it."""
    async with house() as place, place.client() as client, place.client("bob") as stranger:
        assert (await client.post("/api/providers", json=PROVIDER)).status_code == 201
        again = await client.post("/api/providers", json=PROVIDER)
        assert (again.status_code, code_of(again)) == (409, "provider_exists")
        other = (await client.post("/api/providers", json=MINIMAL)).json()["id"]
        renamed = await client.put(f"/api/providers/{other}", json={**MINIMAL, "name": "acme"})
        assert code_of(renamed) == "provider_exists"
        assert (await stranger.post("/api/providers", json=PROVIDER)).status_code == 201


@pytest.mark.parametrize(
    "change",
    [
        *(
            {"name": name}
            for name in ("", "Acme", "a b", "a_b", "-a", "a-", "a--b", "é", "demo", "a" * 65, None)
        ),
        *({"kind": kind} for kind in ("demo", "", "OpenAI", None)),
        *({"api_key": key} for key in ("", " ", "a b", "sk\n", "clé", "a" * 4097, 5)),
        *({"models": models} for models in ([""], [" "], "small", ["a" * 201], ["m"] * 201, None)),
        {"unknown": 1},
    ],
    ids=str,
)
async def test_what_makes_no_provider_is_refused(change: dict[str, Any]) -> None:
    """R12: field by field, without repeating the key."""
    async with house() as place, place.client() as client:
        refused = await client.post("/api/providers", json={**PROVIDER, **change})
        assert (refused.status_code, code_of(refused)) == (422, "invalid_body")
        assert KEY not in refused.text
        assert (await client.get("/api/providers")).json()["items"][0]["source"] == "operator"


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("ftp://models.example.com", "invalid_base_url"),
        ("models.example.com/v1", "invalid_base_url"),
        ("https://user:pass@models.example.com", "invalid_base_url"),
        ("https://models.example.com/v1?key=1", "invalid_base_url"),
        ("https://models.example.com/v1#x", "invalid_base_url"),
        ("https://models.example.com\\@evil", "invalid_base_url"),
        ("https://", "invalid_base_url"),
        ("http://0x7f.1/", "invalid_base_url"),
        ("http://2130706433/", "invalid_base_url"),
        ("http://models.example.com:99999/", "invalid_base_url"),
        ("http://127.0.0.1:8000/v1", "egress_refused"),
        ("http://10.1.2.3/v1", "egress_refused"),
        ("http://169.254.169.254/latest", "egress_refused"),
        ("http://[::1]:8000/v1", "egress_refused"),
        ("http://[::ffff:127.0.0.1]/v1", "egress_refused"),
        ("http://localhost:11434/v1", "egress_refused"),
    ],
)
async def test_an_address_that_may_not_be_called_is_refused_at_once(url: str, code: str) -> None:
    """R12: by the rules of the guard, when it is entered, changed, or tried."""
    async with house() as place, place.client() as client:
        path = f"/api/providers/{(await client.post('/api/providers', json=PROVIDER)).json()['id']}"
        for answered in (
            await client.post("/api/providers", json={**PROVIDER, "name": "other", "base_url": url}),
            await client.put(path, json={**PROVIDER, "base_url": url}),
            await client.post("/api/providers/test", json={"kind": "openai", "base_url": url, "model": "m"}),
        ):
            assert answered.status_code == 422, answered.text
            assert code_of(answered) == code


async def test_a_vendors_own_address_needs_a_key() -> None:
    """R12: without a base URL there is nobody to call without a key."""
    async with house() as place, place.client() as client:
        bare = {"name": "own", "kind": "openai"}
        assert code_of(await client.post("/api/providers", json=bare)) == "missing_provider_key"
        tried = await client.post("/api/providers/test", json={"kind": "openai", "model": "m"})
        assert code_of(tried) == "missing_provider_key"
        path = f"/api/providers/{(await client.post('/api/providers', json=MINIMAL)).json()['id']}"
        removed = await client.put(path, json={**MINIMAL, "api_key": None})
        assert code_of(removed) == "missing_provider_key"
        keyless = {**bare, "base_url": "https://models.example.com"}
        assert (await client.post("/api/providers", json=keyless)).json()["has_key"] is False


async def test_without_a_master_key_no_secret_is_taken() -> None:
    """C4: the refusal says what to set; a provider that needs no key can be kept all the same."""
    async with house() as place:
        object.__setattr__(place.gateway, "vault", None)
        place.app = create_app(place.gateway)
        async with place.client() as client:
            refused = await client.post("/api/providers", json=PROVIDER)
            assert (refused.status_code, code_of(refused)) == (409, "no_secret_key")
            assert "AGIO_SECRET_KEY" in refused.json()["error"]["message"]
            keyless = {**PROVIDER, "api_key": None}
            path = f"/api/providers/{(await client.post('/api/providers', json=keyless)).json()['id']}"
            assert code_of(await client.put(path, json=PROVIDER)) == "no_secret_key"
            assert await place.store.count_secrets() == {}


async def test_agents_may_name_the_teams_providers() -> None:
    """R12: besides those every team has, and no other team's."""
    async with house() as place, place.client() as client, place.client("bob") as stranger:
        agent = {**AGENT, "model_provider": "acme", "model_name": "small"}
        assert code_of(await client.post("/api/agents", json=agent)) == "unknown_provider"
        await client.post("/api/providers", json=PROVIDER)
        made = await client.post("/api/agents", json=agent)
        assert made.status_code == 201
        assert (await client.put(f"/api/agents/{made.json()['id']}", json=agent)).status_code == 200
        refused = await stranger.post("/api/agents", json=agent)
        assert code_of(refused) == "unknown_provider"
        assert "acme" not in refused.json()["error"]["details"]["known"]


async def test_the_operators_providers_are_listed_without_where_they_are() -> None:
    """R12: as the workers say what they have; a team's own of the same name stands in its place."""
    async with house() as place, place.client() as client:
        link = place.room.pool.connect(HandWorker())
        await soon(link.greet(Greeting(worker="w1", room=1, providers=["openai", "unheard-of"])))
        items = (await client.get("/api/providers")).json()["items"]
        assert [(item["name"], item["source"], item["id"]) for item in items] == [
            ("demo", "operator", None),
            ("openai", "operator", None),
        ]
        assert all(not item["has_key"] and item["base_url"] is None for item in items)
        await client.post("/api/providers", json={**PROVIDER, "name": "openai"})
        items = (await client.get("/api/providers")).json()["items"]
        assert [(item["name"], item["source"]) for item in items] == [
            ("openai", "team"),
            ("demo", "operator"),
        ]


async def test_what_was_sealed_with_a_lost_key_is_told() -> None:
    """C4: trying the provider says that it cannot be opened, and what to do; its row can still be replaced."""
    async with house() as place, place.client() as client:
        provider_id = (await client.post("/api/providers", json=PROVIDER)).json()["id"]
        where = SecretPlace("default", provider_id, KEY_FIELD)
        sealed = await place.store.get_secret(where)
        assert sealed is not None
        lost = type(sealed)("00000000", sealed.data)
        assert await place.store.replace_secrets([(where, sealed, lost)]) == 1
        refused = await client.post(f"/api/providers/{provider_id}/test", json={"model": "m"})
        assert (refused.status_code, code_of(refused)) == (409, "secret_unreadable")
        assert (await client.put(f"/api/providers/{provider_id}", json=PROVIDER)).status_code == 200
        assert await _secret(place, provider_id) == KEY


async def test_a_model_to_try_must_be_known() -> None:
    """R12: named in the request, or the first the provider lists; without any the service's list is asked for."""
    async with house() as place, place.client() as client:
        path = f"/api/providers/{(await client.post('/api/providers', json=MINIMAL)).json()['id']}"
        listed = (await client.post(f"{path}/test")).json()
        assert (listed["ok"], listed["model"], listed["code"]) == (False, None, "no_worker")
        tried = await client.post(f"{path}/test", json={"model": "claude"})
        assert tried.status_code == 200
        assert (
            tried.json() | {"ok": False, "model": "claude", "code": "no_worker", "text": None} == tried.json()
        )
        assert "No worker" in tried.json()["message"]


@pytest.mark.parametrize(
    ("url", "state", "setting"),
    [
        ("http://127.0.0.1:11434/v1", "refused", "127.0.0.1:11434"),
        ("http://localhost:11434/v1", "refused", "localhost:11434"),
        ("http://ollama.localhost/v1", "refused", "ollama.localhost:80"),
        ("http://[::1]:8000/v1", "refused", "[::1]:8000"),
        ("https://192.168.1.5/v1", "refused", "192.168.1.5:443"),
        ("http://10.0.0.1", "refused", "10.0.0.1:80"),
        ("http://ollama:11434/v1", "refused", "ollama:11434"),
        ("http://127.0.0.1:9/v1", "allowed", None),
        ("http://169.254.169.254/latest", "refused", None),
        ("http://[::ffff:169.254.169.254]/v1", "refused", None),
        ("http://[fd00:ec2::254]/v1", "refused", None),
        ("http://168.63.129.16/v1", "refused", None),
        ("http://100.100.100.200/v1", "refused", None),
        ("http://[fd12::1]:8000/v1", "refused", "[fd12::1]:8000"),
        ("http://metadata.google.internal/v1", "unknown", None),
        ("http://8.8.8.8/v1", "allowed", None),
        ("https://models.example.com/v1", "unknown", None),
        ("http://nobody-has-this-name.local:8000/v1", "unknown", "nobody-has-this-name.local:8000"),
    ],
)
async def test_an_address_is_judged_while_it_is_typed(url: str, state: str, setting: str | None) -> None:
    """R12: with the very line that would allow it, and no line that opens where clouds keep their keys."""

    async def look_up(host: str, port: int) -> list[Address]:
        if host.endswith((".local", ".internal")):
            raise OSError("nobody")
        assert host.endswith(("localhost", "ollama")), "only names of the own network are looked up"
        return [IPv4Address("127.0.0.1")]

    async with house() as place, place.client() as client:
        asked = {"base_url": url}
        object.__setattr__(place.gateway, "egress", Egress(["127.0.0.1:9"], look_up))
        answered = await client.post("/api/providers/address", json=asked)
        line = setting and f"AGIO_EGRESS_ALLOW={setting}"
        assert answered.json() == {"state": state, "setting": line}
        if setting is not None and state == "refused":
            object.__setattr__(place.gateway, "egress", Egress([setting], look_up))
            again = await client.post("/api/providers/address", json=asked)
            assert again.json() == {"state": "allowed", "setting": None}


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:11434", "ftp://x/v1", "http://u:p@x/", "http://x/?a", 5, "x" * 2001]
)
async def test_what_is_no_address_is_not_judged(url: object) -> None:
    """R12: it is refused as it would be in a provider."""
    async with house() as place, place.client() as client:
        refused = await client.post("/api/providers/address", json={"base_url": url})
        assert refused.status_code == 422
        assert code_of(refused) in ("invalid_base_url", "invalid_body")


async def test_a_provider_that_somebody_else_saved_is_replaced_only_by_who_wants_to() -> None:
    """C4: If-Match names the version that was read; a late one changes neither address nor key."""
    async with house() as place, place.client() as client:
        made = await client.post("/api/providers", json=PROVIDER)
        path, tag = f"/api/providers/{made.json()['id']}", made.headers["etag"]
        assert (await client.get(path)).headers["etag"] == tag
        first = await client.put(path, json=PROVIDER, headers={"if-match": tag})
        assert first.status_code == 200
        other = {**PROVIDER, "name": "other", "api_key": "sk-other"}
        late = await client.put(path, json=other, headers={"if-match": tag})
        assert (late.status_code, code_of(late)) == (412, "changed_elsewhere")
        assert (await client.get(path)).json() == first.json()
        assert await _secret(place, first.json()["id"]) == KEY
        twice = [("if-match", first.headers["etag"]), ("if-match", tag)]
        assert code_of(await client.put(path, json=other, headers=twice)) == "invalid_query"
        again = await client.put(path, json=other, headers={"if-match": first.headers["etag"]})
        assert again.status_code == 200
