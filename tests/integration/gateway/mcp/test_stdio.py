"""stdio servers of the operator's file: processes with a clean environment, limits, and a certain end."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from agio.errors import UserError
from agio.settings import load_commands
from agio.tools.mcp.link import Command
from tests.support.mcp_house import McpHouse, mcp_house
from tests.support.node import NODE, NODE_FOLDER
from tests.support.pages import ROOT

WAIT_S = 2.0
"""What the processes have to end."""
FIXTURE = Command(
    command=sys.executable,
    args=["-m", "tests.support.mcp_server"],
    env={"PATH": os.defpath, "PYTHONPATH": str(ROOT), "GREETING": "hello"},
)


async def operators(house: McpHouse, name: str) -> str:
    """The id of an operator's server."""
    listed = (await house.ask("GET", "/api/mcp-servers"))["items"]
    return next(str(server["id"]) for server in listed if server["name"] == name)


async def use(house: McpHouse, name: str, *tools: str) -> str:
    """Check an operator's server and enable tools of it; returns its id."""
    server_id = await operators(house, name)
    checked = await house.ask("POST", f"/api/mcp-servers/{server_id}/check")
    assert checked["reachable"], checked
    await house.enable(server_id, *tools, effect="read")
    return server_id


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that nobody has waited for yet does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


async def test_a_process_has_a_clean_environment_and_is_dead_when_the_server_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C4: what the operator's file says and nothing of ours; its own group, which ends with what it started."""
    monkeypatch.setenv("AGIO_SECRET_KEY", "k" * 64)
    async with mcp_house(tmp_path, commands={"local": FIXTURE}) as house:
        await use(house, "local", "environment", "echo")
        found: dict[str, Any] = json.loads((await house.call("local_environment"))["content"])
        assert set(found["env"]) <= {"PATH", "PYTHONPATH", "GREETING", "LC_CTYPE"}
        assert found["group"] == found["pid"] != os.getpgid(0)
        assert found["limits"] == {"RLIMIT_CORE": 0, "RLIMIT_NOFILE": 1024}
        assert (await house.call("local_echo", {"text": "hi"}))["content"] == "hi"
        assert is_alive(found["pid"])
        assert is_alive(found["child"])
        await house.server.gateway.mcp.close()
        async with asyncio.timeout(WAIT_S):
            while is_alive(found["pid"]) or is_alive(found["child"]):  # noqa: ASYNC110
                await asyncio.sleep(0.01)


async def test_a_process_that_dies_is_started_again_and_one_that_keeps_dying_less_and_less_often(
    tmp_path: Path,
) -> None:
    """C4: the call says so; the next one has a new process, after a delay that grows."""
    async with mcp_house(tmp_path, commands={"local": FIXTURE}) as house:
        await use(house, "local", "die", "echo")
        died = await house.call("local_die")
        assert (died["error"]["code"], "ended with code 3" in died["content"]) == (
            "upstream_unreachable",
            True,
        )
        assert (await house.call("local_echo", {"text": "again"}))["content"] == "again"
        for _ in range(6):
            died = await house.call("local_die")
            if "started again in" in died["content"]:
                break
        assert "started again in" in died["content"], died


async def test_a_command_is_the_operators_alone(tmp_path: Path) -> None:
    """C4: not by the API; not of a team it is not for; not changed here; a missing one says what to do."""
    commands = {
        "local": Command(command="agio-no-such-command", env={"PATH": os.defpath}),
        "theirs": Command(command="true", env={}, tenants=["other"]),
    }
    async with mcp_house(tmp_path, commands=commands) as house:
        listed = (await house.ask("GET", "/api/mcp-servers"))["items"]
        assert [(server["name"], server["source"]) for server in listed] == [("local", "operator")]
        server_id = await operators(house, "local")
        checked = await house.ask("POST", f"/api/mcp-servers/{server_id}/check")
        assert (checked["reachable"], checked["error"]["code"]) == (False, "mcp_command_not_found")
        assert "agio.toml" in checked["error"]["message"]
        body = {"name": "mine", "transport": "stdio", "server_url": "x", "command": "sh"}
        refused = await house.ask("POST", "/api/mcp-servers", body, expect=422)
        assert "agio.toml" in refused["error"]["message"]
        body = {"name": "local", "server_url": "https://example.com/mcp"}
        taken = await house.ask("POST", "/api/mcp-servers", body, expect=409)
        assert taken["error"]["code"] == "mcp_server_exists"
        for method, given in (("PUT", {**body, "name": "renamed"}), ("DELETE", None)):
            kept = await house.ask(method, f"/api/mcp-servers/{server_id}", given, expect=409)
            assert kept["error"]["code"] == "mcp_server_read_only"


async def test_a_server_that_left_the_operators_file_is_off(tmp_path: Path) -> None:
    """C4: its tools say so, and the team may delete it."""
    async with mcp_house(tmp_path, commands={"local": FIXTURE}) as house:
        server_id = await use(house, "local", "echo")
    async with mcp_house(tmp_path) as house:
        said = await house.call("local_echo", {"text": "x"})
        assert said["error"]["code"] == "mcp_server_off"
        await house.ask("DELETE", f"/api/mcp-servers/{server_id}", expect=204)


async def test_the_operators_file_is_read_and_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C4, L6: in the data folder, here, or where AGIO_CONFIG says; what it cannot mean is refused with its place."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AGIO_CONFIG", raising=False)
    monkeypatch.setenv("PATH", "/bin")
    monkeypatch.setenv("TOKEN", "t")
    assert load_commands(tmp_path) == {}
    path = tmp_path / "agio.toml"
    path.write_text('[mcp.files]\ncommand = "npx"\nargs = ["-y"]\nenv = {A = "1"}\nenv_from = ["TOKEN"]\n')
    expected = Command(
        command="npx", args=["-y"], env={"PATH": "/bin", "LANG": "C.UTF-8", "TOKEN": "t", "A": "1"}
    )
    assert load_commands(tmp_path / "elsewhere") == load_commands(tmp_path) == {"files": expected}
    for text in (
        "nonsense",
        "[mcp.files]",
        '[mcp.files]\ncommand = "x"\nshell = true',
        '[mcp."no name"]\ncommand = "x"',
        '[mcp.files]\ncommand = "x"\nenv_from = ["NOT_SET_ANYWHERE"]',
        '[mcp.files]\ncommand = "x"\nmemory_mb = 1',
    ):
        path.write_text(text)
        with pytest.raises(UserError, match=r"agio\.toml") as refused:
            load_commands(tmp_path)
        assert refused.value.code == "invalid_setting"
    path.write_text("")
    path.chmod(0o666)
    with pytest.raises(UserError, match="chmod"):
        load_commands(tmp_path)
    monkeypatch.setenv("AGIO_CONFIG", str(tmp_path / "missing.toml"))
    with pytest.raises(UserError, match=r"missing\.toml"):
        load_commands(tmp_path)


async def test_the_reference_server_is_used_over_stdio(tmp_path: Path) -> None:
    """C4: one that others wrote, in Node: text, progress, an image, structured content, its words to stderr."""
    server = (
        NODE_FOLDER / "node_modules" / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"
    )
    everything = Command(
        command=NODE or "node", args=[str(server), "stdio"], env={"PATH": os.environ["PATH"]}
    )
    async with mcp_house(tmp_path, commands={"all": everything}) as house:
        server_id = await operators(house, "all")
        checked = await house.ask("POST", f"/api/mcp-servers/{server_id}/check")
        assert (checked["reachable"], checked["era"]) == (True, "2025"), checked
        assert {"echo", "get-sum", "get-tiny-image"} <= set(checked["tools"])
        await house.enable(server_id, "echo", "get-sum", "get-tiny-image", effect="read")
        assert (await house.call("all_echo", {"message": "hi"}))["content"] == "Echo: hi"
        said = await house.call("all_get-sum", {"a": 2, "b": 3})
        assert "5" in said["content"]
        drawn = await house.call("all_get-tiny-image")
        assert drawn["ok"], drawn
