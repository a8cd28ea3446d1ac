"""What docs/contributing.md says is to be touched is there, and the places it says are derived are."""

import re

from agio.core.link.link import AgentOffer
from agio.core.provider import ProviderKind
from agio.core.store.records import AgentDefinition, AgentFields, AgentRecord
from agio.db.migrations import load_migrations
from agio.db.queries import load_queries
from agio.drivers.registry import SERVICES
from agio.gateway.routes.agents.bodies import AgentBody
from agio.gateway.routes.agents.views import AgentView
from tests.support.pages import ROOT

PAGE = ROOT / "docs" / "contributing.md"
_PATH = re.compile(r"`((?:src|web|tests|docs)(?:/[\w.-]+)*|README\.md)`")
_MODULE = re.compile(r"`python -m ([\w.]+)")


def test_every_path_of_the_page_exists() -> None:
    """L16: files, folders and the modules that are run."""
    text = PAGE.read_text("utf-8")
    paths = _PATH.findall(text) + [f"{name.replace('.', '/')}.py" for name in _MODULE.findall(text)]
    assert len(paths) > 30
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_a_column_of_agents_is_everywhere() -> None:
    """L16: record, body and migrations agree; views, offers and queries have every column."""
    columns = set(AgentDefinition.__struct_fields__)
    assert set(AgentBody.model_fields) == set(AgentFields.__struct_fields__) == {*columns, "tools"}
    for derived in (AgentRecord, AgentView, AgentOffer):
        assert columns < set(derived.__struct_fields__)
    for dialect in ("sqlite", "postgres"):
        made = "".join(migration.up for migration in load_migrations(dialect))
        table = re.search(r"create table agents \((.*?)\n\)", made, re.DOTALL)
        assert table is not None
        assert columns <= set(re.findall(r"^\s*(\w+)\s", table[1], re.MULTILINE)) | set(
            re.findall(r"alter table agents add column (?:if not exists )?(\w+)", made)
        )
        queries = load_queries(dialect)
        for name in ("get_agent", "add_agent", "update_agent"):
            assert columns <= set(re.findall(r"\w+", queries[name])), name


def test_every_kind_of_provider_has_a_driver() -> None:
    """L3: the API's kinds and the registry name the same providers."""
    assert set(ProviderKind.__args__) == set(SERVICES)
