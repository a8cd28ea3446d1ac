"""A distinct word in every field there is, through a real server, with everything failing that can be made to fail.

No line of the log has any of them; secrets are neither in the files of the store nor in any event.
"""

import asyncio
import json
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect

from agio.db.sqlite.database import open_unchecked
from agio.protocol.messages import Json
from agio.testing import Call, HttpStatus, ModelServer, Reply
from tests.support.command import WAIT_S
from tests.support.process import Server, answer_of, stream

APP = """
from agio import Agent, tool

@tool
def break_down(text: str) -> str:
    \"\"\"Fail.\"\"\"
    raise RuntimeError(text)

helper = Agent(name="in-code", instructions="Help.", model="openai-chat:m", tools=[break_down])
"""


class Words:
    """The words that are looked for: what nobody may keep in the clear, and what only the store may have."""

    def __init__(self) -> None:
        self.secret: dict[str, str] = {}
        self.content: dict[str, str] = {}

    def hide(self, name: str, value: str | None = None) -> str:
        """Return a secret, made up unless it is given."""
        self.secret[name] = value or f"s{secrets.token_hex(20)}"
        return self.secret[name]

    def say(self, name: str, tail: str = "") -> str:
        """Return something that somebody says."""
        self.content[name] = f"c{secrets.token_hex(10)}"
        return self.content[name] + tail


@asynccontextmanager
async def upstream(words: Words) -> AsyncGenerator[str]:
    """A service that HTTP tools call: it answers with words of its own, and fails if asked to."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        fails = b"/fail" in head.split(b"\r\n")[0]
        said = words.content["tool failure" if fails else "tool result"]
        body = json.dumps({"said": said}).encode()
        status = b"500 No" if fails else b"200 OK"
        writer.write(
            b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s"
            % (status, len(body), body)
        )
        await writer.drain()
        writer.close()

    words.say("tool result")
    words.say("tool failure")
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


class Visitor:
    """Everything a person and a program can say to a server. What is refused is as good as what is taken."""

    def __init__(self, server: Server, words: Words, tool_url: str, model_url: str) -> None:
        self.server = server
        self.words = words
        self.tool_url = tool_url
        self.model_url = model_url
        self.cookie = ""
        self.client = httpx.Client(base_url=server.url, timeout=WAIT_S, trust_env=False)

    def ask(self, method: str, path: str, expect: int | None = None, **given: Any) -> httpx.Response:
        """Ask as the signed-in person."""
        headers = {"origin": self.server.url, **given.pop("headers", {})}
        if self.cookie:
            headers["cookie"] = self.cookie
        response = self.client.request(method, path, headers=headers, **given)
        assert expect is None or response.status_code == expect, response.text
        if "set-cookie" in response.headers:
            self.cookie = response.headers["set-cookie"].partition(";")[0]
            if value := self.cookie.partition("=")[2]:
                self.words.hide(f"cookie {len(self.words.secret)}", value)
        return response

    def come(self) -> None:
        """Sign in with the link, make an account, fail to sign in, sign in."""
        words = self.words
        token = words.hide("sign-in link", self.server.sign_in.partition("token=")[2])
        self.ask("GET", f"/sign-in?token={words.hide('wrong link')}", 403)
        self.ask("GET", f"/sign-in?token={token}", 303)
        email = words.say("e-mail address", "@example.com")
        password = words.hide("password")
        person = {"email": email, "name": words.say("person"), "password": password}
        self.ask("POST", "/api/account", 201, json=person)
        self.ask("POST", "/api/sign-in", 401, json={"email": email, "password": words.hide("wrong password")})
        self.ask("POST", "/api/sign-in", json={"email": email, "password": [words.hide("listed password")]})
        self.ask("POST", "/api/sign-in", 200, json={"email": email, "password": password})
        self.ask("POST", "/api/account/password", 204, json={"password": words.hide("new password")})
        key = self.ask("POST", "/api/api-keys", 201, json={"name": "ci"}).json()["key"]
        words.hide("API key", key)
        bearer = {"authorization": f"Bearer {words.hide('unknown API key')}"}
        assert self.client.get("/api/me", headers=bearer).status_code == 401
        invited = self.ask(
            "POST", "/api/invitations", 201, json={"email": words.say("invited", "@example.com")}
        )
        words.hide("invitation", invited.json()["token"])
        accept = {"token": invited.json()["token"], "password": words.hide("short password")[:3]}
        self.client.post("/api/invitations/accept", json=accept, headers={"origin": self.server.url})

    def build(self) -> dict[str, str]:
        """Make providers, tools and agents; return the agents' ids."""
        words = self.words
        provider = {
            "name": "ours",
            "kind": "openai-chat",
            "base_url": self.model_url,
            "api_key": words.hide("provider key"),
        }
        kept = self.ask("POST", "/api/providers", 201, json=provider).json()["id"]
        self.ask("POST", f"/api/providers/{kept}/test", json={"model": "m"})
        self.ask(
            "POST", "/api/providers", json={**provider, "kind": "nonsense", "api_key": words.hide("key 2")}
        )
        for name, effect in (("fetch", "read"), ("fail", "once")):
            self.ask(
                "POST",
                "/api/agent-tools",
                201,
                json={
                    "name": name,
                    "description": words.say(f"description of {name}"),
                    "method": "POST",
                    "url": f"{self.tool_url}/{name}",
                    "headers": [
                        {"name": "x-token", "value": words.hide(f"header of {name}"), "secret": True}
                    ],
                    "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
                    "effect": effect,
                },
            )
            call = {"tool": name, "arguments": {"text": words.say(f"argument of {name}")}}
            self.ask("POST", "/api/tools/execute", 200, json=call)
        agents: dict[str, str] = {}
        for provider_name in ("openai-chat", "ours"):
            made = self.ask(
                "POST",
                "/api/agents",
                201,
                json={
                    "name": f"Agent {provider_name}",
                    "description": words.say(f"description {provider_name}"),
                    "system_prompt": words.say(f"system prompt {provider_name}"),
                    "model_provider": provider_name,
                    "model_name": "m",
                    "tools": [{"name": "fetch"}, {"name": "fail"}, {"name": "store_draft_content"}],
                },
            )
            agents[provider_name] = made.json()["id"]
        self.ask("PATCH", "/api/profile", json={"changes": {"city": words.say("profile")}})
        self.ask("PATCH", "/api/profile", json={"changes": {words.say("profile field") * 50: "x"}})
        return agents

    def talk(self, agents: dict[str, str]) -> None:
        """Send messages that are answered, that use tools, that fail."""
        words = self.words
        for agent, topic in (
            (agents["openai-chat"], "well"),
            (agents["ours"], "badly"),
            (self.in_code(), "in code"),
        ):
            session = self.ask("POST", f"/api/agents/{agent}/sessions", 201, json={}).json()["id"]
            headers = {"idempotency-key": words.say(f"idempotency key {topic}")}
            body = {"content": words.say(f"message {topic}")}
            self.ask("POST", f"/api/agent-sessions/{session}/message", 202, json=body, headers=headers)
            with httpx.Client(
                base_url=self.server.url, headers={"cookie": self.cookie}, timeout=WAIT_S
            ) as reader:
                stream(reader, session)
            self.ask("PATCH", f"/api/agent-sessions/{session}", json={"title": words.say(f"title {topic}")})
        self.talk_in_one_turn(agents["openai-chat"])
        url = self.server.url.replace("http", "ws") + "/realtime"
        origin = {"cookie": self.cookie, "origin": self.server.url}
        with connect(url, additional_headers=origin, open_timeout=WAIT_S) as socket:
            for command in (
                {"type": "message", "session_id": session, "content": words.say("message on the socket")},
                {"type": "message", "session_id": words.say("session on the socket"), "content": "x"},
                {"type": words.say("command")},
                {"type": "approve", "session_id": session, "answers": [{"reason": words.say("reason")}]},
            ):
                socket.send(json.dumps({"id": "1", **command}))
                socket.recv(WAIT_S)
            socket.send(words.say("no JSON on the socket"))
            socket.recv(WAIT_S)

    def talk_in_one_turn(self, agent: str) -> None:
        """Use the faces that answer with the whole turn, well and badly."""
        words = self.words
        once = {"agent_id": agent, "input": words.say("input of a turn")}
        self.ask("POST", "/api/agent/run", json=once)
        name = words.say("name of an SDK session")
        made = {
            "session_id": name,
            "agent_name": words.say("inline agent"),
            "instructions": words.say("inline instructions"),
            "model": "openai-chat:m",
        }
        self.ask("POST", "/api/sdk/session/create", 200, json=made)
        said = {"session_id": name, "user_input": words.say("SDK message")}
        self.ask("POST", "/api/sdk/session/message", 200, json=said)
        self.ask("GET", f"/api/sdk/session/transcript?session_id={name}", 200)
        self.ask(
            "POST", "/api/sdk/session/message", json={"session_id": words.say("no session"), "user_input": ""}
        )

    def in_code(self) -> str:
        """The agent of the module."""
        listed = answer_of(self.ask("GET", "/api/agents"))["items"]
        return next(agent["id"] for agent in listed if agent["name"] == "in-code")  # type: ignore[index]

    def blunder(self, agents: dict[str, str]) -> None:
        """Ask for what is not there, in ways that are wrong."""
        words = self.words
        agent = agents["openai-chat"]
        self.ask("POST", "/api/agents", 400, content=f'{{"name": "{words.say("bad JSON")}"')
        self.ask("POST", "/api/agents", 422, json={"name": 1, "system_prompt": [words.say("wrong type")]})
        self.ask("GET", f"/api/agents?search={words.say('search')}", 200)
        self.ask("GET", f"/api/agents?limit={words.say('limit')}", 422)
        self.ask("GET", f"/api/agents?after={words.say('cursor')}", 400)
        self.ask("GET", f"/api/{words.say('path')}/x", 404)
        self.ask("GET", f"/api/runs/{words.say('id')}", 404)
        self.ask("GET", f"/api/members/{words.say('member')}")
        self.ask("DELETE", f"/api/agents/{agent}/tools/{words.say('tool')}")
        self.ask(
            "GET", "/api/me", headers={"x-anything": words.say("header"), "user-agent": words.say("agent")}
        )
        self.ask("GET", "/api/me", headers={"x-request-id": words.say("request id", " with a space")})
        self.ask("GET", "/api/me", headers={"x-forwarded-for": words.say("forwarded")})
        self.ask("POST", f"/api/agents/{agent}/ag-ui", json={"threadId": words.say("thread"), "messages": 5})
        file = words.say("file content").encode()
        self.ask("POST", "/api/files", 201, files={"file": (words.say("file name", ".txt"), file)})
        self.ask("POST", "/api/files", files={words.say("part"): ("x", b"x")})

    def break_store(self, file: Path) -> None:
        """Take a table away under the server's feet, and ask for it."""
        connection = open_unchecked(file)
        connection.execute(
            "alter table drafts rename to drafts_away; alter table profiles rename to profiles_away"
        )
        connection.close()
        broken = self.ask("GET", f"/api/drafts/{self.words.say('draft')}")
        assert broken.status_code >= 500, broken.text
        change = {"changes": {"city": self.words.say("profile that fails")}}
        assert self.ask("PATCH", "/api/profile", json=change).status_code >= 500
        connection = open_unchecked(file)
        connection.execute(
            "alter table drafts_away rename to drafts; alter table profiles_away rename to profiles"
        )
        connection.close()


def replies(words: Words) -> list[Reply]:
    """What the model says: to the test of the connection, then to three conversations."""
    draft: dict[str, Json] = {
        "key": "plan",
        "title": words.say("draft title"),
        "content": words.say("draft content"),
    }
    return [
        Reply(text="OK"),
        Reply(
            text=words.say("text before tools"),
            reasoning=words.say("reasoning"),
            tool_calls=[
                Call("fetch", {"text": words.say("tool argument")}),
                Call("fail", {"text": words.say("failing tool's argument")}),
                Call("store_draft_content", draft),
                Call("nonsense", {"text": words.say("unknown tool's argument")}),
            ],
        ),
        Reply(text=words.say("answer")),
        Reply(fault=HttpStatus(400, words.say("model's failure"))),
        Reply(tool_calls=[Call("break_down", {"text": words.say("exception of a tool")})]),
        Reply(text=words.say("second answer")),
    ]


@pytest.mark.parametrize("arguments", [(), ("--workers", "1")], ids=["one process", "worker process"])
@pytest.mark.timeout(180)
async def test_nothing_that_anybody_says_is_in_the_log_and_no_secret_is_kept(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    """S13: some ninety words, in JSON and at the most talkative level; none in the log, no secret at rest."""
    words = Words()
    (tmp_path / "canary_app.py").write_text(APP)
    async with ModelServer(api_key=None) as model, upstream(words) as tool_url:
        model.script(*replies(words))
        model.answer(lambda call: Reply(text=words.content["answer"]))
        environment = {
            "AGIO_BOOTSTRAP_API_KEY": words.hide("bootstrap key"),
            "AGIO_SECRET_KEY": words.hide("master key", secrets.token_hex(32)),
            "AGIO_WORKER_KEY": words.hide("worker key"),
            "OPENAI_API_KEY": words.hide("operator's model key"),
            "OPENAI_BASE_URL": model.base_url("openai-chat"),
            "AGIO_EGRESS_ALLOW": "127.0.0.1",
            "AGIO_LOG_FORMAT": "json",
            "AGIO_LOG_LEVEL": "debug",
            "PYTHONPATH": str(tmp_path),
        }
        with Server(tmp_path, "--app", "canary_app", *arguments, environment=environment) as server:

            def visit() -> str:
                visitor = Visitor(server, words, tool_url, model.base_url("openai-chat"))
                with visitor.client, server.client(words.secret["bootstrap key"]) as program:
                    if arguments:
                        server.await_workers(program, 1)
                    visitor.come()
                    agents = visitor.build()
                    visitor.talk(agents)
                    visitor.blunder(agents)
                    visitor.break_store(server.data / "agio.db")
                    sessions = answer_of(visitor.ask("GET", "/api/agent-sessions"))["items"]
                    events = "".join(
                        visitor.ask("GET", f"/api/agent-sessions/{session['id']}/events").text
                        for session in sessions  # type: ignore[union-attr]
                    )
                    shown = visitor.ask("GET", "/api/audit?limit=200", 200).text
                    visitor.ask("POST", "/sign-out", 204)
                return events + shown

            events = await asyncio.to_thread(visit)
            kept = b"".join(
                path.read_bytes() for path in server.data.iterdir() if path.name.startswith("agio.db")
            )
            server.stop()
    kept += (server.data / "agio.db").read_bytes()
    log = server.errors + server.output()
    assert len(words.secret) + len(words.content) >= 60
    in_log = {name: word for name, word in {**words.secret, **words.content}.items() if word in server.errors}
    assert in_log == {}
    printed = {name for name, word in words.secret.items() if word in log} - {"sign-in link"}
    assert printed == set()
    assert {name for name, word in words.secret.items() if word in events} == set()
    assert {name for name, word in words.secret.items() if word.encode() in kept} == set()
    # What was looked for was there to be found, and everything went the way of a log that is written.
    assert words.content["tool result"] in events
    assert words.content["message well"].encode() in kept
    lines = [json.loads(line) for line in server.errors.splitlines()]
    assert {line["logger"] for line in lines} >= {"agio.access", "agio.worker"}
    assert {line.get("status") for line in lines} >= {
        200,
        400,
        401,
        403,
        404,
        422,
        503,
        "completed",
        "failed",
    }
