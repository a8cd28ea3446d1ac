"""The list of built-in tools. A new tool is a module of this package and an entry here."""

from typing import Protocol

from agio.core.profile import ProfileStore
from agio.core.tool import AnyTool
from agio.egress import Egress
from agio.tools.calculator import calculator
from agio.tools.clock import clock
from agio.tools.documents import DOCUMENT_TOOLS, DocumentReader, DocumentSearch, make_document_tools
from agio.tools.draft import DraftWriter, make_draft_tool
from agio.tools.echo_context import echo_context
from agio.tools.fetch import make_fetch_tool
from agio.tools.memory import SEARCH_CONVERSATIONS, MemorySearch, MemoryTools, make_memory_tools
from agio.tools.postcard import send_postcard
from agio.tools.profile import make_profile_tools
from agio.tools.project_context import ProjectStore, make_project_context_tool

UNLISTED = frozenset({send_postcard.name, SEARCH_CONVERSATIONS, *DOCUMENT_TOOLS})
"""Tools that are not listed: the demo agent's own, and those that agents have by a switch or their collections."""


class ToolsStore(DraftWriter, ProfileStore, ProjectStore, MemoryTools, DocumentReader, Protocol):
    """The store methods that the built-in tools need."""


def built_in_tools(
    store: ToolsStore, egress: Egress, search: MemorySearch, documents: DocumentSearch
) -> dict[str, AnyTool]:
    """Make the built-in tools, by name."""
    tools = (
        calculator,
        clock,
        echo_context,
        send_postcard,
        make_fetch_tool(egress),
        make_draft_tool(store),
        make_project_context_tool(store),
        *make_profile_tools(store),
        *make_memory_tools(store, search),
        *make_document_tools(store, documents),
    )
    return {tool.name: tool for tool in tools}
