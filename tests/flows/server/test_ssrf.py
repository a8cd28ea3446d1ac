"""Nobody gets a server to call what is not public: through the whole of it, from the model's call to the socket."""

import json
import re
import socket
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

from agio.protocol.codec import decode_lines
from agio.protocol.events import ToolCallResult
from agio.testing import Call, Reply
from tests.canary import Canary, answer_with, canary, redirect
from tests.flows.server.home import Home, open_home
from tests.flows.server.ssrf import LOCATIONS, NAMES, REBOUND, fill, vectors
from tests.flows.server.talk import open_talk

AT_ONCE = 40
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


@asynccontextmanager
async def opened_scene(folder: Path) -> AsyncGenerator[Scene]:
    async with canary() as inside, canary() as outside:
        allow = [f"127.0.0.1:{outside.port}"]
        async with open_home(folder / "agio.db", "direct", egress_allow=allow) as home:
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
