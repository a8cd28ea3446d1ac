"""How each server is asked for a run: a new conversation, one message, the answer streamed to its end."""

import json
import uuid
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from model_answers import TOOL
from servers.client import Client, Mark, Reply

QUESTION = "What is 2+3?"
AG_UI = Mark(b'"delta":" word', b'"RUN_FINISHED"')
MODELS_OWN = Mark(b'"content":" word', b"data: [DONE]")

Shape: TypeAlias = Callable[[Client], Awaitable[Reply]]
"""One run by one client. What it returns is the reply that streamed the answer."""


class Refused(Exception):
    """A server answered a request with an error."""


def get(path: str, key: str = "") -> bytes:
    return f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n{_authorization(key)}\r\n".encode()


def post(path: str, body: object, key: str = "") -> bytes:
    text = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: text/event-stream\r\n"
        f"content-type: application/json\r\n{_authorization(key)}content-length: {len(text)}\r\n\r\n"
    )
    return head.encode() + text


async def ask_json(client: Client, request: bytes) -> dict[str, object]:
    """Raises Refused unless the answer is a success."""
    reply = await client.ask(request)
    if not 200 <= reply.status < 300:
        raise Refused(f"{request.split(b' HTTP', 1)[0].decode()}: {reply.status} {reply.body[:300]!r}")
    return json.loads(reply.body)


def by_session(path: str) -> Shape:
    """The applications of this benchmark: a session id and a message."""
    mark = Mark(b'"delta":" word', b'{"type":"end"')

    async def run(client: Client) -> Reply:
        return await client.ask(post(path, {"session_id": uuid.uuid4().hex, "message": QUESTION}), mark)

    return run


def by_ag_ui(path: str, key: str = "") -> Shape:
    """An AG-UI client's RunAgentInput."""

    async def run(client: Client) -> Reply:
        message = {"id": uuid.uuid4().hex, "role": "user", "content": QUESTION}
        given = {
            "threadId": uuid.uuid4().hex,
            "runId": uuid.uuid4().hex,
            "state": {},
            "messages": [message],
            "tools": [],
            "context": [],
            "forwardedProps": {},
        }
        return await client.ask(post(path, given, key), AG_UI)

    return run


def by_session_stream(agent_id: str, key: str) -> Shape:
    """agio's own way: make a session, send a message, read the session's stream until the run has ended."""
    mark = AG_UI._replace(open_ended=True)

    async def run(client: Client) -> Reply:
        session = await ask_json(client, post(f"/api/agents/{agent_id}/sessions", {}, key))
        path = f"/api/agent-sessions/{session['id']}"
        await ask_json(client, post(f"{path}/message", {"content": QUESTION}, key))
        return await client.ask(get(f"{path}/stream", key), mark)

    return run


def by_langgraph(graph: str) -> Shape:
    mark = Mark(b'[{"content":" word', b'"chunk_position":"last"')

    async def run(client: Client) -> Reply:
        given = {
            "assistant_id": graph,
            "input": {"messages": [{"role": "user", "content": QUESTION}]},
            "stream_mode": ["messages-tuple"],
            "if_not_exists": "create",
        }
        return await client.ask(post(f"/threads/{uuid.uuid4()}/runs/stream", given), mark)

    return run


def by_model_itself() -> Shape:
    """Both turns asked of the model directly: what no server can be faster than."""
    tool = {"type": "function", "function": {key: TOOL[key] for key in ("name", "description", "parameters")}}
    user = {"role": "user", "content": QUESTION}
    called = {"id": "call", "type": "function", "function": {"name": "add", "arguments": '{"a":2,"b":3}'}}
    turns = [
        user,
        {"role": "assistant", "tool_calls": [called]},
        {"role": "tool", "tool_call_id": "call", "content": "5"},
    ]

    def turn(messages: list[object]) -> bytes:
        return post("/v1/chat/completions", {"stream": True, "tools": [tool], "messages": messages})

    async def run(client: Client) -> Reply:
        await client.ask(turn(turns[:1]), MODELS_OWN)
        return await client.ask(turn(turns), MODELS_OWN)

    return run


def _authorization(key: str) -> str:
    return f"authorization: Bearer {key}\r\n" if key else ""
