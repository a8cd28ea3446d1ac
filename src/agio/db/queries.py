"""The named queries: `sql/shared/*.sql` for both dialects, `sql/<dialect>/queries.sql` for one.

Text that queries share is a `-- part: name`; queries and other parts include it as `{name}`. The columns of an
agent are parts that are made here, from the fields of `AgentDefinition`.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from agio.core.store.records import AgentDefinition

SQL_FOLDER = Path(__file__).parent / "sql"

_NAME = re.compile(r"^-- (name|part): (\w+)$", re.MULTILINE)
_PART = re.compile(r"\{(\w+)\}")
_COMMENT = re.compile(r"^\s*--.*\n?", re.MULTILINE)
_PARAMETER = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|::\w+|:(?P<name>[a-z_]\w*)")
_DEFINITION = AgentDefinition.__struct_fields__
AGENT_COLUMNS = (*_DEFINITION, "id", "tenant", "source", "created_at", "updated_at")
"""What `agent_columns` selects, by the names of `AgentRecord`."""
_DERIVED = {
    "agent_columns": ", ".join(f"a.{name}" for name in AGENT_COLUMNS).replace("a.tenant,", "a.tenant_id,"),
    "definition_columns": ", ".join(_DEFINITION),
    "definition_values": ", ".join(f":{name}" for name in _DEFINITION),
    "definition_changes": ", ".join(f"{name} = :{name}" for name in _DEFINITION),
}
"""The parts that are made from the fields of an agent."""


@cache
def load_queries(dialect: str) -> Mapping[str, str]:
    """Read a dialect's queries: name to SQL with parameters `:name`, without the comments."""
    kinds: dict[str, dict[str, str]] = {"name": {}, "part": {}}
    for path in [*sorted((SQL_FOLDER / "shared").glob("*.sql")), SQL_FOLDER / dialect / "queries.sql"]:
        _, *found = _NAME.split(path.read_text(encoding="utf-8"))
        for kind, name, body in zip(found[::3], found[1::3], found[2::3], strict=True):
            if name in kinds[kind]:
                raise ValueError(f"Two queries are named {name}.")
            kinds[kind][name] = _COMMENT.sub("", body).strip()
    queries, parts = kinds["name"], kinds["part"] | _DERIVED

    def whole(text: str) -> str:
        return _PART.sub(lambda part: whole(parts[part[1]]), text)

    return MappingProxyType({name: whole(query) for name, query in queries.items()})


class Numbered(Struct, frozen=True):
    """A query with its parameters by number, and their names in that order."""

    sql: str
    names: tuple[str, ...]


def number_parameters(query: str) -> Numbered:
    """Replace each `:name` by `$n`, the same name by the same number; `::casts` and quoted text stay."""
    names: list[str] = []

    def number(found: re.Match[str]) -> str:
        name = found["name"]
        if name is None:
            return found[0]
        if name not in names:
            names.append(name)
        return f"${names.index(name) + 1}"

    return Numbered(_PARAMETER.sub(number, query), tuple(names))


def parameters_of(query: str) -> tuple[str, ...]:
    """The names of a query's parameters, each once."""
    return number_parameters(query).names
