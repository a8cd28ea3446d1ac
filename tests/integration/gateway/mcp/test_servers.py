"""MCP servers by REST: added, shown without secrets, checked, changed, deleted; their tools called."""

from pathlib import Path

import pytest

from tests.support.mcp_house import mcp_house
from tests.support.mcp_server import fixture_server

TOKEN = "tok-0123456789abcdef"


@pytest.mark.parametrize(
    ("old", "sse", "era"), [(False, False, "2026"), (True, False, "2025"), (False, True, "2025")]
)
async def test_a_server_is_tested_added_checked_and_its_tools_called(
    tmp_path: Path, old: bool, sse: bool, era: str
) -> None:
    """C4: over streamable HTTP of both eras and over SSE; with the token, which is never shown."""
    async with fixture_server(old=old, sse=sse) as fixture, mcp_house(tmp_path) as house:
        transport = "sse" if sse else "http"
        tested = await house.ask(
            "POST", "/api/mcp-servers/test", {"server_url": fixture.url, "transport": transport}
        )
        assert (tested["reachable"], tested["era"], tested["error"]) == (True, era, None), tested
        assert (tested["server_name"], tested["server_version"]) == ("fixture", "1.2.3")
        assert set(tested["tools"]) == set(fixture.tools)
        server_id = await house.add(fixture.url, bearer_token=TOKEN, transport=transport)
        await house.enable(server_id, "echo", "leak", "fail", "ask", effect="read")
        assert (await house.call("shop_echo", {"text": "hi"}))["content"] == "hi"
        listed = (await house.ask("GET", "/api/agent-tools"))["items"]
        told = next(tool["server"] for tool in listed if tool["name"] == "shop_echo")
        assert told == {"id": server_id, "name": "shop", "tool": "echo", "on": True}
        failed = await house.call("shop_fail")
        assert (failed["ok"], failed["error"]["code"], failed["content"]) == (
            False,
            "upstream_error",
            "no such order",
        )
        wrong = await house.call("shop_echo", {"words": "hi"})
        assert wrong["error"]["code"] == "bad_arguments"
        assert (await house.call("shop_ask"))["content"] in ("decline", "decline None")
        if not sse:
            assert fixture.headers[-1]["authorization"] == f"Bearer {TOKEN}"
            assert (await house.call("shop_leak"))["content"] == "your token is [secret]"
        shown = (await house.client.get("/api/mcp-servers")).text
        assert TOKEN not in shown
        assert '"has_token":true' in shown


async def test_a_name_that_does_not_do_is_refused_in_words(tmp_path: Path) -> None:
    """C4: the refusal says the rule, not a pattern."""
    async with mcp_house(tmp_path) as house:
        for name in ("7up", "a__b", "a-", "a b", "", "a" * 41, "a\n"):
            body = {"name": name, "server_url": "https://example.com/mcp"}
            refused = await house.ask("POST", "/api/mcp-servers", body, expect=422)
            assert refused["error"]["code"] == "invalid_body"
            assert "begins with a letter" in str(refused["error"])
            assert "[A-Za-z]" not in str(refused["error"])
