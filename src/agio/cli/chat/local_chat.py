"""`agio chat`: chat with an agent in this process."""

import asyncio
import shlex
from pathlib import Path

from msgspec import Struct

from agio.agents import demo
from agio.cli.chat.conversation import ChatTexts, converse
from agio.cli.chat.local import LocalSource
from agio.drivers.endpoint import Endpoint
from agio.drivers.registry import open_driver, split_model
from agio.library import Agent
from agio.server.stores import hint_if_locked
from agio.settings import Settings
from agio.tools.calculator import calculator
from agio.tools.clock import clock


class ChatOptions(Struct, frozen=True):
    """The options of the command line."""

    model: str
    store: Path
    thread: str | None
    instructions: str | None
    base_url: str | None
    plain: bool
    own_store: bool
    """Whether the store was named, and must be named again to continue."""


def chat(options: ChatOptions, settings: Settings) -> int:
    """Chat until the input ends; return the exit code. Raises AgioError if it cannot start."""
    agent = _agent(options)
    store = f" --store {shlex.quote(str(options.store))}" if options.own_store else ""
    texts = ChatTexts(
        title=options.model,
        noun="thread",
        named=options.thread is not None,
        history=settings.data_dir / "chat_history",
        hint='echo "what is 6 * 7?" | agio chat',
        go_on="agio chat --thread {thread}" + _braced(store),
        see="agio runs list" + _braced(store),
        plain=options.plain,
    )
    hint = "If that process is a server, connect to it: agio chat --server URL"
    with hint_if_locked(hint), asyncio.Runner() as loop:
        loop.run(_check_endpoint(options, settings))
        return converse(LocalSource(agent, options.thread), loop, texts)


def _braced(text: str) -> str:
    """Escape the braces of a file name for `str.format`."""
    return text.replace("{", "{{").replace("}", "}}")


def _agent(options: ChatOptions) -> Agent:
    is_demo = options.model == demo.MODEL
    return Agent(
        demo.NAME if is_demo else "chat",
        options.instructions or (demo.INSTRUCTIONS if is_demo else "You are a helpful assistant."),
        model=options.model,
        tools=demo.TOOLS if is_demo else [calculator, clock],
        store=options.store,
        base_url=options.base_url,
    )


async def _check_endpoint(options: ChatOptions, settings: Settings) -> None:
    """Check the model's settings before the first message. Raises UserError."""
    provider, _ = split_model(options.model)
    endpoint = Endpoint(options.base_url) if options.base_url else settings.endpoint(provider)
    await open_driver(provider, endpoint).aclose()
