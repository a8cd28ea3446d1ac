"""`agio chat --server URL`: talk to an agent that runs on a server."""

import asyncio

from msgspec import Struct

from agio.cli.chat.conversation import Talk, converse
from agio.cli.chat.remote import RemoteSource
from agio.cli.client.remote_runs import find_agent
from agio.cli.client.server_client import ServerClient
from agio.gateway.routes.session_views import SessionView
from agio.settings import Settings


class ServerChatOptions(Struct, frozen=True):
    """What was asked on the command line."""

    server: str
    api_key: str | None
    agent: str | None
    session: str | None
    plain: bool


def server_chat(options: ServerChatOptions, settings: Settings) -> int:
    """Converse until there is no more input; return the exit code. Raises AgioError for what cannot begin."""
    server = ServerClient(options.server, options.api_key)
    with asyncio.Runner() as loop:
        source, agent = loop.run(_source(server, options))
        talk = Talk(
            title=f"{agent} at {server.url}",
            noun="session",
            named=options.session is not None,
            history=settings.data_dir / "chat_history",
            hint=f'echo "what is 6 * 7?" | agio chat --server {server.url}',
            go_on=f"agio chat --server {server.url} --session {{thread}}",
            see=f"agio runs list --server {server.url}",
            plain=options.plain,
        )
        return converse(source, loop, talk)


async def _source(server: ServerClient, options: ServerChatOptions) -> tuple[RemoteSource, str]:
    if options.session is not None:
        session = await server.get(f"/api/agent-sessions/{options.session}", SessionView)
        return RemoteSource(server, session.agent_id, session), session.agent_name
    agent = await find_agent(server, options.agent)
    return RemoteSource(server, agent.id, None), agent.name
