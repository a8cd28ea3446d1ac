"""A team's own provider from REST to the model: whose key goes where, and where it is never seen."""

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec import structs

import agio.gateway.workers.provider_test
from agio.core.config import ServerLimits
from agio.core.link.link import Job
from agio.core.provider import ProviderFields, SecretPlace
from agio.drivers.endpoint import Endpoint
from agio.testing import ModelServer, Reply
from agio.testing.faults import Fault, HtmlPage, HttpStatus, NeverAnswer, VendorError
from agio.vault import Vault
from tests.support.engine import QUICK
from tests.support.served import Served, served

OPERATORS = "sk-operator-0123456789"
TEAMS = "sk-team-abcdefghij"
HERE = ("127.0.0.1",)


class Desk:
    """Somebody of a team, at a server whose operator has a model of their own."""

    def __init__(self, server: Served, client: httpx.AsyncClient, model: ModelServer) -> None:
        self.server = server
        self.client = client
        self.model = model

    async def connect(self, **fields: object) -> str:
        """Add a provider at the model server; returns its path."""
        given = {
            "name": "acme",
            "kind": "openai-chat",
            "base_url": self.model.base_url("openai-chat"),
            "api_key": TEAMS,
            "models": ["tiny"],
        }
        made = await self.client.post("/api/providers", json={**given, **fields})
        assert made.status_code == 201, made.text
        return f"/api/providers/{made.json()['id']}"

    async def session(self, provider: str = "acme") -> str:
        """Start a session with an agent that uses a provider."""
        agent = {
            "name": provider,
            "system_prompt": "Be brief.",
            "model_provider": provider,
            "model_name": "tiny",
        }
        made = await self.client.post("/api/agents", json=agent)
        assert made.status_code == 201, made.text
        return (await self.client.post(f"/api/agents/{made.json()['id']}/sessions")).json()["id"]

    async def ask(self, session: str) -> tuple[dict[str, Any], str]:
        """Send a message; returns its run, once it has ended, and its log."""
        sent = await self.client.post(f"/api/agent-sessions/{session}/message", json={"content": "Hi"})
        assert sent.status_code == 202, sent.text
        path = f"/api/runs/{sent.json()['run_id']}"
        for _ in range(2000):
            run = (await self.client.get(path)).json()
            if run["status"] not in ("queued", "running"):
                return run, (await self.client.get(f"{path}/events")).text
        raise TimeoutError("the run never ended")

    def sent(self) -> list[str]:
        """Every header the model server was sent, in all calls."""
        return [f"{name}: {value}" for call in self.model.calls for name, value in call.headers.items()]


@asynccontextmanager
async def desk(
    folder: Path, *, key: str | None = TEAMS, allow: Sequence[str] = HERE, limits: ServerLimits = QUICK
) -> AsyncGenerator[Desk]:
    """A server whose operator has OpenAI, at an address nobody is to call, and a model server that takes one key."""
    own = {"openai": Endpoint(base_url="http://127.0.0.1:9", api_key=OPERATORS), "demo": Endpoint()}
    own["openai-chat"] = own["openai"]
    async with (
        ModelServer(api_key=key) as model,
        served(folder, limits, endpoints=own, egress_allow=allow) as server,
        httpx.AsyncClient(base_url=server.url, headers=server.headers, timeout=60) as client,
    ):
        yield Desk(server, client, model)


def _bytes_in(folder: Path) -> bytes:
    """The store, its journal, and whatever else there is."""
    return b"".join(file.read_bytes() for file in folder.iterdir() if file.is_file())


async def test_an_agent_answers_with_the_teams_own_model(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """R12, C4: the key opens the model's door, and is in no answer, event, log line or file."""
    answers: list[str] = []

    async def note(response: httpx.Response) -> None:
        await response.aread()
        answers.append(f"{response.text} {response.headers}")

    with caplog.at_level(logging.DEBUG):
        async with desk(tmp_path) as place:
            place.client.event_hooks["response"].append(note)
            path = await place.connect()
            session = await place.session()
            run, log = await place.ask(session)
            assert run["status"] == "completed", log
            assert f"authorization: Bearer {TEAMS}" in place.sent()
            again, second = await place.ask(session)
            assert again["status"] == "completed"
            tried = (await place.client.post(f"{path}/test")).json()
            assert tried["ok"], tried
            await place.client.get(path)
            await place.client.get("/api/providers")
            files = _bytes_in(tmp_path)
            assert (await place.client.delete(path)).status_code == 204
            assert await place.server.gateway.store.count_secrets() == {}
    for said in (*answers, log, second, *(str(vars(record)) for record in caplog.records), caplog.text):
        assert TEAMS not in said
    files += _bytes_in(tmp_path)
    assert b"acme" in files
    assert TEAMS.encode() not in files


@pytest.mark.parametrize("kind", ["openai", "openai-chat", "anthropic", "gemini"])
async def test_the_operators_key_is_never_sent_to_a_teams_address(tmp_path: Path, kind: str) -> None:
    """R12: not for a provider without a key, not for one of the operator's names, not in a test."""
    async with desk(tmp_path, key=None) as place:
        address = {"kind": kind, "base_url": place.model.base_url(kind)}
        path = await place.connect(name="openai", api_key=None, **address)
        session = await place.session("openai")
        run, log = await place.ask(session)
        assert run["status"] == "completed", log
        assert (await place.client.post(f"{path}/test")).json()["ok"]
        assert (await place.client.post("/api/providers/test", json={**address, "model": "m"})).json()["ok"]
        assert len(place.model.calls) == 3
        assert not [line for line in place.sent() if OPERATORS in line]
        assert not [
            line for line in place.sent() if line.startswith(("authorization", "x-api-key", "x-goog"))
        ]
        keyed = {"name": "openai", "models": ["tiny"], "api_key": TEAMS, **address}
        assert (await place.client.put(path, json=keyed)).status_code == 200
        run, log = await place.ask(session)
        assert run["status"] == "completed", log
        assert [line for line in place.sent() if TEAMS in line]
        assert not [line for line in place.sent() if OPERATORS in line]


async def test_a_changed_key_is_used_from_the_next_run_on(tmp_path: Path) -> None:
    """C4: what was kept of a provider is forgotten when it changes."""
    async with desk(tmp_path) as place:
        path = await place.connect(api_key="sk-wrong-key")
        session = await place.session()
        run, log = await place.ask(session)
        assert (run["status"], run["error_code"]) == ("failed", "invalid_api_key")
        assert "sk-wrong-key" not in log
        provider = (await place.client.get(path)).json()
        fields = {name: provider[name] for name in ("name", "kind", "base_url", "models")}
        assert (await place.client.put(path, json={**fields, "api_key": TEAMS})).status_code == 200
        run, log = await place.ask(session)
        assert run["status"] == "completed", log


async def test_a_run_of_a_deleted_provider_fails_and_says_why(tmp_path: Path) -> None:
    """R12: with a code of its own, and nothing is called."""
    async with desk(tmp_path) as place:
        path = await place.connect()
        session = await place.session()
        assert (await place.ask(session))[0]["status"] == "completed"
        assert (await place.client.delete(path)).status_code == 204
        run, log = await place.ask(session)
        assert (run["status"], run["error_code"]) == ("failed", "provider_missing")
        assert "acme" in log
        assert len(place.model.calls) == 1


async def test_a_teams_address_is_called_through_the_guard(tmp_path: Path) -> None:
    """R12: an address that is not public is not called, however it came to be one."""
    async with desk(tmp_path, allow=()) as place:
        path = await place.connect(base_url="http://rebound.example/v1", api_key=None)
        provider_id = path.rpartition("/")[2]
        moved = ProviderFields(name="acme", kind="openai-chat", base_url=place.model.base_url("openai-chat"))
        await place.server.gateway.store.update_provider("default", provider_id, moved, None)
        session = await place.session()
        run, log = await place.ask(session)
        assert (run["status"], run["error_code"]) == ("failed", "egress_refused"), log
        tried = (await place.client.post(f"{path}/test", json={"model": "m"})).json()
        assert (tried["ok"], tried["code"]) == (False, "egress_refused")
        assert "not public" in tried["message"]
        assert place.model.connections == 0


async def test_a_key_that_no_master_key_opens_fails_the_run(tmp_path: Path) -> None:
    """C4: rows that were swapped between teams' providers do not open; the run says so and nothing is called."""
    async with desk(tmp_path) as place:
        path = await place.connect()
        session = await place.session()
        store = place.server.gateway.store
        provider_id = path.rpartition("/")[2]
        [(where, sealed)] = await store.secrets_to_rotate("", None, 10)
        vault = place.server.gateway.vault
        assert vault is not None
        for swapped in (
            vault.seal(SecretPlace("other", provider_id, where.field), TEAMS),
            vault.seal(SecretPlace(where.tenant, "prv_other", where.field), TEAMS),
            vault.seal(SecretPlace(where.tenant, provider_id, "header:x-key"), TEAMS),
            Vault([b"l" * 32]).seal(where, TEAMS),
        ):
            assert await store.replace_secrets([(where, sealed, swapped)]) == 1
            place.server.gateway.endpoints.forget("default")
            sealed = swapped
            run, log = await place.ask(session)
            assert (run["status"], run["error_code"]) == ("failed", "secret_unreadable"), log
            assert "AGIO_SECRET_KEY" in log
        assert place.model.connections == 0


async def test_a_job_does_not_show_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C4: neither a job nor its parts give the key away when they are printed."""
    jobs: list[Job] = []
    async with desk(tmp_path) as place:
        [worker] = place.server.gateway.pool.workers.values()
        assert worker.connection is not None
        start = worker.connection.start

        def noted(job: Job) -> None:
            jobs.append(job)
            start(job)

        monkeypatch.setattr(worker.connection, "start", noted)
        await place.connect()
        assert (await place.ask(await place.session()))[0]["status"] == "completed"
    [job] = jobs
    assert job.agent.endpoint is not None
    assert job.agent.endpoint.api_key == TEAMS
    for said in (repr(job), str(job), f"{job.agent.endpoint!r}", str(job.agent.endpoint.__rich_repr__())):
        assert TEAMS not in said


@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [
        (VendorError("invalid_api_key"), "invalid_api_key", "API key is not accepted"),
        (VendorError("permission_denied"), "permission_denied", "may not use this model"),
        (VendorError("model_not_found"), "model_not_found", "has no model tiny"),
        (VendorError("rate_limited"), "rate_limited", "limiting the rate"),
        (VendorError("quota_exceeded"), "quota_exceeded", "no credit left"),
        (VendorError("overloaded"), "model_overloaded", "overloaded right now"),
        (VendorError("bad_request"), "bad_request", "does not accept the request"),
        (HttpStatus(500), "model_unavailable", "failure of its own"),
        (HtmlPage(), "invalid_response", "no model server of this kind"),
        (NeverAnswer(), "turn_timeout", "did not answer within"),
    ],
    ids=str,
)
async def test_trying_a_provider_says_in_words_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Fault, code: str, words: str
) -> None:
    """R12: one call without retries, bounded in time; what came of it is a sentence, without the key."""
    if code == "turn_timeout":
        monkeypatch.setattr(agio.gateway.workers.provider_test, "TIMEOUT_S", 0.2)
    async with desk(tmp_path) as place:
        path = await place.connect()
        place.model.script(Reply("OK", fault=fault))
        answered = await place.client.post(f"{path}/test")
        assert answered.status_code == 200
        tried = answered.json()
        assert (tried["ok"], tried["code"], tried["model"], tried["text"]) == (False, code, "tiny", None)
        assert words in tried["message"]
        assert TEAMS not in answered.text
        assert len(place.model.calls) == 1
        assert 0 <= tried["latency_ms"] < 20_000


async def test_a_provider_that_works_says_so(tmp_path: Path) -> None:
    """R12: before it is kept and after, with what the model said."""
    async with desk(tmp_path) as place:
        path = await place.connect()
        place.model.script(Reply("OK"), Reply("Fine" * 100))
        first = (await place.client.post(f"{path}/test", json={"model": "other"})).json()
        assert (first["ok"], first["model"], first["text"], first["code"]) == (True, "other", "OK", None)
        given = {"kind": "openai", "base_url": place.model.base_url("openai"), "api_key": TEAMS, "model": "m"}
        second = (await place.client.post("/api/providers/test", json=given)).json()
        assert second["ok"]
        assert len(second["text"]) == 200
        chat, responses = (call.body for call in place.model.calls)
        assert (chat.get("max_tokens") or chat.get("max_completion_tokens")) == 16
        assert responses["max_output_tokens"] == 16
        assert not place.model.problems


async def test_an_address_where_nobody_answers_is_told(tmp_path: Path) -> None:
    """R12: whoever entered it reads that it cannot be reached."""
    async with desk(tmp_path) as place:
        given = {"kind": "openai", "base_url": "http://127.0.0.1:9/v1", "api_key": TEAMS, "model": "m"}
        tried = (await place.client.post("/api/providers/test", json=given)).json()
        assert (tried["ok"], tried["code"]) == (False, "connection_failed")
        assert "cannot be reached" in tried["message"]


async def test_trying_is_limited_in_rate(tmp_path: Path) -> None:
    """S14: each try is a call out, and counts as one of a tool."""
    async with desk(tmp_path, limits=structs.replace(QUICK, tool_calls_per_minute=1)) as place:
        path = await place.connect()
        answers = [await place.client.post(f"{path}/test") for _ in range(5)]
        assert answers[0].json()["ok"]
        assert answers[-1].status_code == 429
        assert answers[-1].json()["error"]["code"] == "rate_limited"
        assert len(place.model.calls) < 5


@pytest.mark.parametrize("kind", ["openai", "openai-chat", "anthropic", "gemini"])
async def test_trying_a_provider_lists_the_models_there_are(tmp_path: Path, kind: str) -> None:
    """R12: with the team's key, when it works, when the model is not known, and alone when none is named."""
    async with desk(tmp_path) as place:
        address = {"kind": kind, "base_url": place.model.base_url(kind), "api_key": TEAMS}
        place.model.models = ["small", "large"]
        place.model.script(Reply("OK"), Reply(fault=VendorError("model_not_found")))
        works = (await place.client.post("/api/providers/test", json={**address, "model": "small"})).json()
        assert (works["ok"], works["models"]) == (True, ["small", "large"])
        unknown = (await place.client.post("/api/providers/test", json={**address, "model": "nope"})).json()
        assert (unknown["code"], unknown["models"]) == ("model_not_found", ["small", "large"])
        alone = (await place.client.post("/api/providers/test", json=address)).json()
        assert (alone["ok"], alone["model"], alone["models"]) == (True, None, ["small", "large"])
        assert "2 models" in alone["message"]
        assert len(place.model.calls) == 2
        assert all(TEAMS in str(asked.headers) for asked in place.model.lists)


async def test_a_service_without_a_list_works_as_well(tmp_path: Path) -> None:
    """R12: trying it fails for nothing but the model; without a model there is nothing to try."""
    async with desk(tmp_path) as place:
        path = await place.connect(models=[])
        works = (await place.client.post(f"{path}/test", json={"model": "tiny"})).json()
        assert (works["ok"], works["models"]) == (True, None)
        unlisted: tuple[list[str] | None, ...] = (None, [])
        for models in unlisted:
            place.model.models = models
            nothing = (await place.client.post(f"{path}/test")).json()
            assert (nothing["ok"], nothing["code"], nothing["models"]) == (False, "model_required", None)
            assert "Enter the name of one" in nothing["message"]


async def test_a_key_that_is_not_accepted_is_told_without_a_model(tmp_path: Path) -> None:
    """R12: asking for the list alone says what is wrong, too, and never the key."""
    async with desk(tmp_path) as place:
        place.model.models = ["small"]
        path = await place.connect(models=[], api_key="sk-wrong-key")
        answered = await place.client.post(f"{path}/test")
        assert (answered.json()["ok"], answered.json()["code"]) == (False, "invalid_api_key")
        assert "sk-wrong-key" not in answered.text
