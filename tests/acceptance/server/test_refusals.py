"""A server that cannot begin says why in one line, and its exit code is 1."""

import json
import socket
from pathlib import Path

import pytest

from tests.support.process import Server


def refused(server: Server, code: str) -> str:
    """Wait for the end of a server that must not begin; return the line it ends with."""
    assert server.wait() == 1
    assert server.output() == ""
    assert server.errors.count("\n") == 1, server.errors
    assert server.errors.endswith(f"[{code}]\n")
    return server.errors


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    """R1: the port is named, and so is a way out."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        with Server(tmp_path, "--port", port, wait=False) as server:
            line = refused(server, "port_taken")
    assert f"Port {port}" in line
    assert "--port 0" in line
    assert not server.data.exists()


def test_a_data_folder_that_another_server_has(tmp_path: Path) -> None:
    """B1: only one process writes a store; the second names the first."""
    with Server(tmp_path) as first, Server(tmp_path, wait=False) as second:
        assert f"process {first.process.pid} " in refused(second, "store_locked")
        with first.client() as client:
            assert client.get("/api/ready").status_code == 200


def test_a_data_folder_that_cannot_be_one(tmp_path: Path) -> None:
    """L13: a path through a file is no folder."""
    (tmp_path / "data").write_text("a file")
    with Server(tmp_path, wait=False) as server:
        assert str(server.data) in refused(server, "store_unavailable")


def test_a_host_that_is_none(tmp_path: Path) -> None:
    """L13: an address of another machine is said to be none of ours."""
    with Server(tmp_path, "--host", "nowhere.invalid", wait=False) as server:
        refused(server, "cannot_listen")


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("AGIO_BOOTSTRAP_API_KEY", "too-short", "at least 32"),
        ("AGIO_WORKER_KEY", "too-short", "at least 32"),
        ("AGIO_LIMITS", "{", "JSON object"),
        ("AGIO_LIMITS", json.dumps({"runing_per_user": 5}), "'runing_per_user'"),
        ("AGIO_LIMITS", json.dumps({"running_per_user": "five"}), "running_per_user"),
    ],
)
def test_a_setting_that_cannot_be_used(tmp_path: Path, variable: str, value: str, told: str) -> None:
    """L6: the variable is named, and what is wrong with it."""
    with Server(tmp_path, environment={variable: value}, wait=False) as server:
        line = refused(server, "invalid_setting")
    assert variable in line
    assert told in line
    assert "too-short" not in line


@pytest.mark.parametrize(
    ("content", "code"),
    [(None, "app_not_found"), ("import nonsense_that_is_not_there", "app_invalid"), ("x = 1", "app_invalid")],
)
@pytest.mark.parametrize("workers", [(), ("--workers", "2")])
def test_a_module_that_cannot_be_served(
    tmp_path: Path, content: str | None, code: str, workers: tuple[str, ...]
) -> None:
    """L13: what is wrong with `--app` is said at the start, also when worker processes load it."""
    module = tmp_path / "shop.py"
    if content is not None:
        module.write_text(content)
    with Server(tmp_path, "--app", str(module), *workers, wait=False) as server:
        assert server.wait() == 1
    assert f"[{code}]" in server.errors
    assert "Traceback" not in server.errors


def test_a_gateway_needs_a_worker_key_and_a_worker_a_gateway(tmp_path: Path) -> None:
    """R5: the missing setting is named."""
    with Server(tmp_path, command="gateway", wait=False) as server:
        assert "AGIO_WORKER_KEY" in refused(server, "missing_setting")
    with Server(tmp_path, command="worker", wait=False) as server:
        assert "AGIO_GATEWAY_URL" in refused(server, "missing_setting")
