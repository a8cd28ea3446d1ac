"""docs/providers.md against a real server and a model server: its commands print what it says, its tables are whole."""

import asyncio
import json
from pathlib import Path

from agio.gateway.workers.provider_test import WORDS
from agio.testing import ModelServer, Reply
from tests.docs.test_server_page import BETWEEN, is_said, run_script
from tests.support.pages import ROOT, blocks_of, rows_under, unquoted
from tests.support.process import Server

PAGE = ROOT / "docs" / "providers.md"
ADDRESS = "https://models.example.com/v1"
FIRST = """\
AGIO=http://127.0.0.1:8700
AUTH="Authorization: Bearer $AGIO_API_KEY"
JSON="Content-Type: application/json"
id() { python3 -c 'import json, sys; print(json.load(sys.stdin)["id"])'; }
"""


async def test_the_commands_of_the_page_print_what_it_says(tmp_path: Path) -> None:
    """R12: a model is connected, tried and used with curl."""
    blocks = blocks_of(PAGE, "sh", "json", "text")
    scripts = [block for block in blocks if block.language == "sh"]
    said = [block for block in blocks if block.language != "sh"]
    whole = FIRST + f"\necho\necho '{BETWEEN}'\n".join(block.code for block in scripts)
    async with ModelServer(api_key="sk-of-the-team", models=["small", "large"]) as model:
        model.script(Reply("OK"))
        address = model.base_url("openai-chat")

        def page() -> str:
            with Server(tmp_path, environment={"AGIO_EGRESS_ALLOW": "127.0.0.1"}) as server:
                return run_script(whole.replace(ADDRESS, address), server, tmp_path)

        printed = (await asyncio.to_thread(page)).replace(address, ADDRESS).split(f"{BETWEEN}\n")
    assert len(printed) == len(said) == len(scripts)
    for block, output in zip(said, printed, strict=True):
        assert is_said(block, output), f"{block.place} prints\n{output}"
    assert "not accepted" in json.loads(printed[2])["message"]


async def test_the_recipe_for_ollama_works(tmp_path: Path) -> None:
    """R12: the page's own two lines, with another port: the server may call that address, and lists its models."""
    [recipe] = blocks_of(PAGE, "bash")
    async with ModelServer(api_key=None, models=["llama3.2:latest"]) as model:
        model.script(Reply("OK"))
        port = model.url.rpartition(":")[2]
        start, connect = recipe.code.replace("11434", port).strip().split("\n")
        setting, command = start.split(" ", 1)
        assert command == "agio serve"
        name, value = setting.split("=")

        def use() -> list[str]:
            with Server(tmp_path, environment={name: value}) as server:
                test = 'curl -s -H "$AUTH" -H "$JSON" -X POST $AGIO/api/providers/$ID/test -d'
                script = (
                    f"""ID=$({connect} | id)\n{test} '{{}}'; echo\n{test} '{{"model": "llama3.2:latest"}}'"""
                )
                return run_script(FIRST + script, server, tmp_path).strip().split("\n")

        listed, tried = map(json.loads, await asyncio.to_thread(use))
    assert (listed["ok"], listed["models"]) == (True, ["llama3.2:latest"])
    assert (tried["ok"], tried["text"]) == (True, "OK")


def test_the_table_of_messages_is_complete() -> None:
    """R12: every trouble that is told in words is on the page, and no other."""
    assert [unquoted(row[0]) for row in rows_under(PAGE, "Test it")] == list(WORDS)
