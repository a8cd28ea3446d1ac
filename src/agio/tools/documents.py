"""Documents for agents: search them, read a range, see an outline. Each passage has the number that answers cite."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from agio.core.document import DocumentPassage, DocumentRecord, OutlineEntry, citation_of
from agio.core.store.records import AgentRecord
from agio.core.tool import AnyTool, ToolContext, tool
from agio.errors import UserError
from agio.protocol.messages import Json

DOCUMENT_TOOLS = ("search_documents", "read_document", "outline")
"""The tools that an agent has if it has collections."""
_MOST = 20
_MOST_READ = 40
_MOST_LISTED = 100
_MOST_HEADINGS = 300


class DocumentReader(Protocol):
    """What the tools need of the store."""

    async def find_agent(self, tenant: str, name: str) -> AgentRecord | None:
        """Return the tenant's agent with this name, or None."""
        ...

    async def get_document(self, tenant: str, user: str, document_id: str) -> DocumentRecord:
        """Return a document."""
        ...

    async def library_documents(
        self, tenant: str, user: str, collection_ids: Sequence[str], limit: int
    ) -> list[DocumentRecord]:
        """Return the published documents of collections, by name."""
        ...

    async def read_passages(
        self, tenant: str, user: str, document_id: str, version_id: str, first: int, limit: int
    ) -> list[DocumentPassage]:
        """Return the passages of a version in their order, from one on."""
        ...

    async def outline(
        self, tenant: str, user: str, document_id: str, version_id: str, limit: int
    ) -> list[OutlineEntry]:
        """Return the headings of a version in their order."""
        ...

    async def number_passages(
        self, tenant: str, session_id: str, run_id: str, passages: Sequence[DocumentPassage]
    ) -> list[DocumentPassage]:
        """Give passages the numbers by which answers of a session cite them."""
        ...


class DocumentSearch(Protocol):
    """Searches documents."""

    async def search(
        self, tenant: str, user: str, collection_ids: Sequence[str], text: str, limit: int
    ) -> list[DocumentPassage]:
        """Search collections, best first."""
        ...


def make_document_tools(store: DocumentReader, search: DocumentSearch) -> list[AnyTool]:
    """Make the tools `search_documents`, `read_document` and `outline`."""

    async def collections_of(context: ToolContext) -> list[str]:
        agent = await store.find_agent(context.tenant, context.agent) if context.agent else None
        if agent is None or not agent.collections:
            raise UserError("no_collections", "This agent has no documents: no collection was given to it.")
        return agent.collections

    async def document_of(context: ToolContext, document: str) -> tuple[DocumentRecord, str]:
        """A document of the agent, by id or name, with its published version."""
        collections = await collections_of(context)
        found: DocumentRecord | None = None
        try:
            found = await store.get_document(context.tenant, context.user, document)
        except UserError:
            listed = await store.library_documents(context.tenant, context.user, collections, 10_000)
            found = next((each for each in listed if each.name == document), None)
        if found is None or found.version is None or found.collection_id not in collections:
            raise UserError("document_not_found", f"There is no document {document[:200]}. See outline().")
        return found, found.version.id

    async def shown(context: ToolContext, passages: Sequence[DocumentPassage]) -> list[Json]:
        if context.session:
            passages = await store.number_passages(context.tenant, context.session, "", passages)
        return [
            {
                "cite": f"[{each.number}]" if each.number else None,
                **msgspec.to_builtins(citation_of(each)),
                "passage": each.idx + 1,
                "text": each.text,
            }
            for each in passages
        ]

    @tool(effect="read")
    async def search_documents(context: ToolContext, query: str, limit: int = 6) -> dict[str, Json]:
        """Search the team's documents. Best first. Cite what you use by its number, such as [3].

        Args:
            query: What to look for, in words.
            limit: How many passages at most.
        """
        collections = await collections_of(context)
        limit = max(1, min(limit, _MOST))
        found = await search.search(context.tenant, context.user, collections, query, limit)
        return {"passages": await shown(context, found)}

    @tool(effect="read")
    async def read_document(
        context: ToolContext, document: str, first: int = 1, last: int = 10
    ) -> dict[str, Json]:
        """Read passages of a document in their order. Cite what you use by its number, such as [3].

        Args:
            document: The document's id or name.
            first: The first passage, counted from 1.
            last: The last passage; at most 40 are read at a time.
        """
        found, version_id = await document_of(context, document)
        first = max(first, 1)
        count = max(1, min(last - first + 1, _MOST_READ))
        passages = await store.read_passages(
            context.tenant, context.user, found.id, version_id, first - 1, count
        )
        total = 0 if found.version is None else found.version.passages
        return {"document": found.name, "passages_in_all": total, "passages": await shown(context, passages)}

    @tool(name="outline", effect="read")
    async def outline(context: ToolContext, document: str = "") -> dict[str, Json]:
        """List the documents; or, of one document, the headings and where they begin.

        Args:
            document: The document's id or name; empty: list the documents.
        """
        if not document:
            collections = await collections_of(context)
            listed = await store.library_documents(
                context.tenant, context.user, collections, _MOST_LISTED + 1
            )
            documents: list[Json] = [
                {
                    "id": each.id,
                    "name": each.name,
                    "passages": 0 if each.version is None else each.version.passages,
                }
                for each in listed[:_MOST_LISTED]
            ]
            more = len(listed) > _MOST_LISTED
            words: dict[str, Json] = {"more": "There are more. Search for them."} if more else {}
            return {"documents": documents, **words}
        found, version_id = await document_of(context, document)
        entries = await store.outline(context.tenant, context.user, found.id, version_id, _MOST_HEADINGS)
        headings: list[Json] = [
            {"heading": each.heading, "passage": each.idx + 1, "page": each.page} for each in entries
        ]
        return {"document": found.name, "headings": headings}

    return [search_documents, read_document, outline]
