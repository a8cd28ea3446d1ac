"""Refusals of a server that cannot start."""

import builtins
import os
from typing import Any

import pytest

from agio.errors import UserError
from agio.server.listening import listen
from agio.server.processes import Processes
from agio.server.reload import serve_and_reload


async def test_a_worker_that_cannot_begin_stops_the_server() -> None:
    """R5: it has said why; the server does not try for ever."""
    environment = {**os.environ, "AGIO_GATEWAY_URL": "nonsense", "AGIO_WORKER_KEY": "k" * 40}
    processes = Processes(1, ["worker"], environment)
    with pytest.raises(UserError) as refused:
        await processes.run()
    assert refused.value.code == "worker_failed"


def test_reloading_without_its_package_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    """L16: the name of what to install."""
    real = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if name == "watchfiles":
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UserError) as refused:
        serve_and_reload(None)
    assert refused.value.code == "missing_package"
    assert "watchfiles" in refused.value.message


def test_a_name_that_is_no_address_of_this_machine_is_told_so() -> None:
    """R2: with the reason the system gives."""
    with pytest.raises(UserError) as refused:
        listen("no.such.host.invalid", 0)
    assert refused.value.code == "cannot_listen"
