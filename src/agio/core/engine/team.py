"""The agents of a run: each with the components that run it, and with its edges to others."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

from msgspec import Struct

from agio.core.engine.context import ContextSource, NoContext
from agio.core.handoff import Edge
from agio.core.model import ModelDriver
from agio.core.run.spec import AgentSpec
from agio.core.tool import ToolRunner

NO_EDGES: Mapping[str, Edge] = MappingProxyType({})


class Member(Struct, frozen=True):
    """An agent of a run: its definition, and the components that run it."""

    spec: AgentSpec
    driver: ModelDriver
    tools: ToolRunner
    source: ContextSource = NoContext()
    edges: Mapping[str, Edge] = NO_EDGES
    """The agents that it may call or hand over to, by the name of the tool that stands for each."""


Team: TypeAlias = Mapping[str, Member]
"""The agents of a run, by name."""
NO_TEAM: Team = MappingProxyType({})
