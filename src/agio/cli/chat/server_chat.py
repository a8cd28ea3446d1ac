"""`agio chat --server URL`: chat with an agent on a server."""

import asyncio

from msgspec import Struct

from agio.cli.chat.conversation import ChatTexts, converse
from agio.cli.chat.remote import RemoteSource
from agio.cli.client.remote_runs import find_agent
from agio.cli.client.server_client import ServerClient
from agio.gateway.routes.sessions.views import SessionView
from agio.settings import Settings


class ServerChatOptions(Struct, frozen=True):
    """The options of the command line."""

    server: str
    api_key: str | None
    agent: str | None
    session: str | None
    plain: bool


def server_chat(options: ServerChatOptions, settings: Settings) -> int:
    """Chat until the input ends; return the exit code. Raises AgioError if it cannot start."""
    server = ServerClient(options.server, options.api_key)
    with asyncio.Runner() as loop:
        source, agent = loop.run(_source(server, options))
        texts = ChatTexts(
            title=f"{agent} at {server.url}",
            noun="session",
            named=options.session is not None,
            history=settings.data_dir / "chat_history",
            hint=f'echo "what is 6 * 7?" | agio chat --server {server.url}',
            go_on=f"agio chat --server {server.url} --session {{thread}}",
            see=f"agio runs list --server {server.url}",
            plain=options.plain,
        )
        return converse(source, loop, texts)


async def _source(server: ServerClient, options: ServerChatOptions) -> tuple[RemoteSource, str]:
    if options.session is not None:
        session = await server.get(f"/api/agent-sessions/{options.session}", SessionView)
        return RemoteSource(server, session.agent_id, session), session.agent_name
    agent = await find_agent(server, options.agent)
    return RemoteSource(server, agent.id, None), agent.name
