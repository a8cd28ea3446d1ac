"""Nobody gets a server to call what is not public: through the whole of it, from the model's call to the socket."""

import json
import re
import socket
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

from agio.core.http_tool import HttpTool
from agio.protocol.codec import decode_lines
from agio.protocol.events import ToolCallResult
from agio.protocol.ids import new_id
from agio.testing import Call, Reply
from tests.flows.server.home import LIMITS, Home, open_home
from tests.flows.server.ssrf import ARGUMENTS, LOCATIONS, NAMES, REBOUND, fill, vectors
from tests.flows.server.talk import Json, open_talk
from tests.support.canary import Canary, answer_with, canary, redirect

AT_ONCE = 40
PATIENT = replace(LIMITS, tool_calls_per_minute=10_000, requests_per_minute=10_000)
_LEADS_AWAY = re.compile(r"[a-z][a-z0-9+.-]*:|//|\\\\", re.IGNORECASE)
STATUSES = (301, 302, 303, 307, 308)


class Names:
    """The machine's resolver, as it would be if the attacker had a name server."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers = {name: [list(addresses)] for name, addresses in NAMES.items()}
        self._real = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", self.look_up)

    def look_up(self, host: str, port: int, *args: int, **kwargs: int) -> list[tuple[object, ...]]:
        turns = self.answers.get(str(host).lower())
        if turns is None:
            if not str(host).replace(".", "").isdigit() and host not in ("localhost", "::1", None):
                raise socket.gaierror(f"{host} is not to be looked up in a test")
            return cast("list[tuple[object, ...]]", self._real(host, port, *args, **kwargs))
        addresses = turns.pop(0) if len(turns) > 1 else turns[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]


class Scene:
    """A server, a canary inside that must hear nothing, and one outside that may be called."""

    def __init__(self, home: Home, inside: Canary, outside: Canary) -> None:
        self.home = home
        self.inside = inside
        self.outside = outside

    async def fetch(self, urls: Sequence[str]) -> dict[str, str | None]:
        """Let a model fetch URLs; returns the error each of them ended with, None for none."""
        agent = await self.home.create_agent(tools=["fetch_url"])
        ended: dict[str, str | None] = {}
        for at in range(0, len(urls), AT_ONCE):
            some = urls[at : at + AT_ONCE]
            self.home.model.script(
                Reply(tool_calls=[Call("fetch_url", {"url": url}) for url in some], chunk_chars=4096),
                Reply("Done."),
            )
            talk = await open_talk("sse", self.home, agent)
            events = decode_lines(b"".join(await talk.say("Fetch.")))
            results = {event.tool_call_id: event for event in events if isinstance(event, ToolCallResult)}
            ordered = [
                results[name] for name in sorted(results, key=lambda name: int(name.rsplit("_", 1)[1]))
            ]
            errors = [cast("dict[str, str]", event.metadata).get("error") for event in ordered]
            ended.update(zip(some, errors, strict=True))
            await talk.close()
        return ended

    async def make_tool(self, name: str, url: str, **fields: object) -> str | None:
        """Make an HTTP tool; returns the code it is refused with, None if it is there."""
        body = {"name": name, "method": "GET", "url": url, "effect": "read", **fields}
        async with self.home.http.post(f"{self.home.url}/api/agent-tools", json=body) as answer:
            told = await answer.json()
            assert answer.status in (201, 400, 422), told
            return None if answer.status == 201 else str(told["error"]["code"])

    async def keep_tool(self, name: str, url: str) -> None:
        """Put an HTTP tool into the store that nobody would be let make now."""
        definition = HttpTool(
            description="", method="GET", url=url, parameters={"type": "object"}, effect="read"
        )
        await self.home.gateway.store.create_tool_definition("default", new_id("tool"), name, definition, {})

    async def execute(self, tool: str, **arguments: object) -> Json:
        """Call a tool outside a run; returns its result."""
        return await self.home.ask("POST", "/api/tools/execute", {"tool": tool, "arguments": arguments})


def _code(result: Json) -> str | None:
    return cast("dict[str, str]", result["error"])["code"] if result["error"] is not None else None


@asynccontextmanager
async def opened_scene(folder: Path) -> AsyncGenerator[Scene]:
    async with canary() as inside, canary() as outside:
        allow = [f"127.0.0.1:{outside.port}"]
        async with open_home(folder, "direct", limits=PATIENT, egress_allow=allow) as home:
            yield Scene(home, inside, outside)


def _through(ended: dict[str, str | None]) -> dict[str, str | None]:
    return {url: error for url, error in ended.items() if error != "egress_refused"}


async def test_no_url_leads_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C3, S4: at least 150 addresses, forms and tricks, given to a model's tool: each is refused, nobody is called."""
    Names(monkeypatch)
    async with opened_scene(tmp_path) as scene:
        urls = vectors(scene.inside.port, scene.outside.port)
        assert len(urls) >= 150
        ended = await scene.fetch(urls)
        assert len(ended) == len(urls)
        assert _through(ended) == {}
        assert scene.inside.connections == 0
        assert scene.outside.connections == 0


async def test_no_redirect_leads_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C3, S4: the same from a server that may be called, with every status; only that server is called."""
    Names(monkeypatch)
    async with opened_scene(tmp_path) as scene:
        inside, outside = scene.inside, scene.outside
        places = [place for place in vectors(inside.port, outside.port) if _fits_header(place)]
        places += [fill(place, inside.port, outside.port) for place in LOCATIONS]
        assert len(places) >= 150
        for number, place in enumerate(places):
            outside.answers[f"/{number}"] = redirect(place, STATUSES[number % len(STATUSES)])
        ended = await scene.fetch([f"{outside.url}/{number}" for number in range(len(places))])
        assert {places[int(url.rpartition("/")[2])]: error for url, error in _through(ended).items()} == {}
        assert inside.connections == 0
        assert [call.target for call in outside.calls if not call.target[1:].isdigit()] == []
        assert outside.connections == len(places)


def _fits_header(place: str) -> bool:
    """Whether it can be said in a Location, and is more there than a path of the server that says it."""
    return bool(_LEADS_AWAY.match(place)) and not any(char in place for char in "\r\n\0")


@pytest.mark.parametrize("status", STATUSES)
async def test_a_name_that_changes_its_answer_leads_nowhere(
    status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C3, S4: rebinding: what was public when it was first asked for is checked again on the next hop."""
    names = Names(monkeypatch)
    async with opened_scene(tmp_path) as scene:
        outside = scene.outside
        for number, rebound in enumerate(REBOUND):
            names.answers[f"r{number}.test"] = [["127.0.0.1"], [rebound]]
            outside.answers[f"/{number}"] = redirect(f"http://r{number}.test:{outside.port}/again", status)
        urls = [f"http://r{number}.test:{outside.port}/{number}" for number in range(len(REBOUND))]
        assert _through(await scene.fetch(urls)) == {}
        assert sorted(call.target for call in outside.calls) == [
            f"/{number}" for number in range(len(REBOUND))
        ]


async def test_no_http_tool_leads_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C3, S4: the same as tools that a team makes: refused when it is made, or when it is called."""
    Names(monkeypatch)
    async with opened_scene(tmp_path) as scene:
        urls = vectors(scene.inside.port, scene.outside.port)
        called, through = 0, dict[str, str | None]()
        for number, url in enumerate(urls):
            code = await scene.make_tool(f"t{number}", url)
            if code == "egress_refused":  # and one that was made when the address was allowed
                await scene.keep_tool(f"t{number}", url)
                code = None
            if code is None:
                called += 1
                code = _code(await scene.execute(f"t{number}"))
            if code not in ("egress_refused", "invalid_tool", "invalid_body", "invalid_json"):
                through[url] = code
        assert through == {}
        assert called >= 50
        assert scene.inside.connections == 0
        assert scene.outside.connections == 0


async def test_no_argument_leads_a_tool_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C3, S4: what a model gives stays in its place, whatever it is: no other path, host or header."""
    Names(monkeypatch)
    async with opened_scene(tmp_path) as scene:
        inside, outside = scene.inside, scene.outside
        schema = {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}, "c": {}},
            "required": ["a", "b"],
        }
        assert await scene.make_tool("t", f"{outside.url}/x/{{a}}/y?b={{b}}", parameters=schema) is None
        for given in ARGUMENTS:
            text = fill(given, inside.port, outside.port)
            for arguments in ({"a": text, "b": "b"}, {"a": "a", "b": text}, {"a": "a", "b": "b", "c": text}):
                result = await scene.execute("t", **arguments)
                assert result["error"] is None or _code(result) == "egress_refused", arguments
        assert inside.connections == 0
        assert len(outside.calls) >= 2 * len(ARGUMENTS)
        for call in outside.calls:
            path, _, query = call.target.partition("?")
            assert re.fullmatch(r"/x/[^/]+/y", path)
            assert path not in ("/x/./y", "/x/../y")
            assert re.fullmatch(r"b=[^&=]*(&c=[^&=]*)?", query)
            assert set(call.headers) == {"host", "accept", "user-agent", "accept-encoding", "connection"}


@pytest.mark.parametrize("status", STATUSES)
async def test_a_tools_secret_stays_with_its_host(
    status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C3: it is sent where it was entered for, not where that redirects to, and nobody reads it in a result."""
    Names(monkeypatch)
    secret = "Bearer s3cret-of-the-team"
    async with opened_scene(tmp_path) as scene:
        outside = scene.outside
        outside.answers["/away"] = redirect(f"http://good.test:{outside.port}/there", status)
        outside.answers["/mirror"] = answer_with(secret.encode())
        headers = [{"name": "Authorization", "value": secret, "secret": True}]
        for name in ("away", "mirror"):
            assert await scene.make_tool(name, f"{outside.url}/{name}", headers=headers) is None
        assert _code(await scene.execute("away")) is None
        first, second = outside.calls
        assert first.headers["authorization"] == secret
        assert second.headers["host"].startswith("good.test")
        assert "s3cret" not in json.dumps(dict(second.headers))
        assert (await scene.execute("mirror"))["content"] == "[secret]"


async def test_a_secret_that_no_header_can_carry_is_refused_when_it_is_entered(tmp_path: Path) -> None:
    """C3: not at the first call; and the answer does not repeat it."""
    async with opened_scene(tmp_path) as scene:
        for value in ("s3cret\r\nX-Evil: 1", " s3cret", "s3cr\u00e9t"):
            headers = [{"name": "X-Key", "value": value, "secret": True}]
            body = {"name": "t", "method": "GET", "url": scene.outside.url, "headers": headers}
            async with scene.home.http.post(f"{scene.home.url}/api/agent-tools", json=body) as answer:
                text = await answer.text()
            assert (answer.status, "invalid_tool" in text, "s3cr" in text) == (422, True, False)


async def test_what_may_be_called_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C3, S4: the same road is open to what the operator exempts: directly, by name and by redirect."""
    Names(monkeypatch)
    async with opened_scene(tmp_path) as scene:
        outside = scene.outside
        outside.answers["/page"] = answer_with(b"<h1>Hello</h1>", kind="text/html")
        outside.answers["/moved"] = redirect("/page", 308)
        urls = [f"{outside.url}/page", f"http://good.test:{outside.port}/page", f"{outside.url}/moved"]
        assert await scene.fetch(urls) == dict.fromkeys(urls)
        assert len(outside.calls) == 4
        assert "Hello" in json.dumps(scene.home.model.calls[-1].messages)
