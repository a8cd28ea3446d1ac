"""A model for programs in processes of their own: it stops in the middle of an answer until the test lets it go on."""

import asyncio
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Self, TypeVar

from agio.testing import ModelServer, Reply
from agio.testing.capture import ModelCall
from tests.support.command import WAIT_S

BEGIN = "It begins here"
END = "it ends here."
STORY = f"{BEGIN}, {'goes on and on, ' * 20}{END}"
APP = """
from agio import Agent

held = Agent("held", "Tell stories.", model="openai-chat:test-model")
"""
"""A module whose agent has this model, if the program that serves it has the model's environment."""

Result = TypeVar("Result")


class HeldModel:
    """Whoever asks for a story is told half of it, and the rest after `let_go`; anything else is said back."""

    def __init__(self) -> None:
        self._gate = asyncio.Event()
        self._server = ModelServer()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.environment: dict[str, str] = {}

    def __enter__(self) -> Self:
        self._thread.start()
        self._do(self._server.__aenter__())
        self._server.answer(self._answer)
        self.environment = {
            "OPENAI_BASE_URL": self._server.base_url("openai-chat"),
            "OPENAI_API_KEY": "test-key",
        }
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._do(self._server.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(WAIT_S)
        self._loop.close()

    def let_go(self) -> None:
        """Let every story go on to its end."""
        self._loop.call_soon_threadsafe(self._gate.set)

    def _answer(self, call: ModelCall) -> Reply:
        if "story" in call.last_user_text:
            return Reply(STORY, gate=self._gate)
        return Reply(f"You said: {call.last_user_text}")

    def _do(self, work: Coroutine[object, object, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(WAIT_S)
