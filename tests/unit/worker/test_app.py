"""The user's module: what is found in it, and what is said of one that cannot be served."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agio.core.store.records import AgentTool
from agio.errors import UserError
from agio.worker.app import load_app

MODULE = '''
from agio import Agent, tool

@tool(effect="read")
def look(where: str) -> str:
    """Look somewhere."""
    return where

@tool
def ring() -> str:
    """Ring."""
    return "rung"

watchman = Agent("watchman", "Watch.", tools=[look], goal="peace")
agents = [Agent("bell", "Ring.", tools=[ring])]
hidden = {"not": Agent("nobody")}
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("my_"):
            del sys.modules[name]


@pytest.mark.parametrize("name", ["my_app", "my_app.py", "./my_app.py"])
def test_agents_and_tools_are_found_at_the_top_level_and_in_lists(folder: Path, name: str) -> None:
    """L7: an agent defined in Python is served by naming its module or its file."""
    (folder / "my_app.py").write_text(MODULE)
    app = load_app(name)
    assert set(app.agents) == {"watchman", "bell"}
    assert set(app.tools) == {"look", "ring"}
    fields = {field.name: field for field in app.agent_fields()}
    assert fields["watchman"].goal == "peace"
    assert fields["watchman"].tools == [AgentTool("look")]
    assert fields["bell"].model_provider == "demo"
    assert [(offer.name, offer.place, offer.effect) for offer in app.tool_offers()] == [
        ("look", "worker", "read"),
        ("ring", "worker", "once"),
    ]


def test_one_attribute_can_be_named(folder: Path) -> None:
    """L7: `module:attribute` serves that agent alone; its tools are offered too."""
    (folder / "my_app.py").write_text(MODULE)
    app = load_app("my_app:watchman")
    assert set(app.agents) == {"watchman"}
    assert set(app.tools) == set()
    assert [offer.name for offer in app.tool_offers()] == ["look"]
    assert set(load_app("my_app.py:agents").agents) == {"bell"}


@pytest.mark.parametrize(
    ("source", "name", "code", "words"),
    [
        ("", "my_lost", "app_not_found", "no module my_lost"),
        ("", "my_lost.py", "app_not_found", "no file my_lost.py"),
        (MODULE, "my_app:missing", "app_not_found", "no 'missing'"),
        ("import my_other_lost", "my_app", "app_invalid", "my_other_lost"),
        ("1 / 0", "my_app.py", "app_invalid", "ZeroDivisionError"),
        ("def", "my_app", "app_invalid", "SyntaxError"),
        ("raise SystemExit(3)", "my_app", "app_invalid", "SystemExit"),
        ("import agio\nagio.Agent('x', model='nobody:x')", "my_app", "app_invalid", "no provider"),
        ("x = 1", "my_app", "app_invalid", "defines nothing"),
        ("import agio\na = agio.Agent('x')\nb = agio.Agent('x')", "my_app", "duplicate_agent", "named x"),
        (
            "import agio\ndef f() -> str: 'f'\na = agio.tool(f)\nb = agio.tool(f)",
            "my_app",
            "duplicate_tool",
            "named f",
        ),
    ],
)
def test_a_module_that_cannot_be_served_is_refused_with_the_reason(
    folder: Path, source: str, name: str, code: str, words: str
) -> None:
    """L13: what is wrong with the module is said in one sentence."""
    (folder / "my_app.py").write_text(source)
    with pytest.raises(UserError) as raised:
        load_app(name)
    assert raised.value.code == code
    assert words in raised.value.message
