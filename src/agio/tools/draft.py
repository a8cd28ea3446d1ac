"""Drafts (S12): versioned texts that an agent writes for the user."""

import re
from typing import Annotated, Protocol

import msgspec
from msgspec import Meta

from agio.core.draft import DraftRecord, DraftWrite
from agio.core.tool import AnyTool, ToolContext, tool
from agio.errors import UserError
from agio.protocol.messages import Json

MAX_BYTES = 256 * 1024
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,127}")


class DraftWriter(Protocol):
    """The store of drafts."""

    async def write_draft(self, tenant: str, user: str, write: DraftWrite) -> DraftRecord:
        """Add a version to a draft; a repeated call writes once."""
        ...


def make_draft_tool(store: DraftWriter) -> AnyTool:
    """Make the tool `store_draft_content`."""

    @tool(effect="idempotent")
    async def store_draft_content(
        context: ToolContext,
        key: Annotated[str, Meta(min_length=1, max_length=128)],
        title: Annotated[str, Meta(min_length=1, max_length=200)],
        content: str | dict[str, Json] | list[Json],
        kind: Annotated[str, Meta(pattern="^[a-z][a-z0-9_-]{0,63}$")] = "document",
    ) -> dict[str, Json]:
        """Store what you wrote for the user as a new version of a draft, for them to read and use elsewhere.

        Args:
            key: What the draft is called, such as `proposal`: the same key is the same draft.
            title: A title for people.
            content: The whole text, or JSON. It replaces the version before, which is kept.
            kind: What it is, such as `document`, `email` or `plan`.
        """
        if not _KEY.fullmatch(key):
            raise UserError("invalid_draft", "A key has up to 128 letters, digits and . _ - /.")
        size = len(msgspec.json.encode(content))
        if size > MAX_BYTES:
            raise UserError("invalid_draft", f"A draft has at most {MAX_BYTES} bytes, this one {size}.")
        write = DraftWrite(
            key=key,
            title=title,
            kind=kind,
            content=content,
            session_id=context.session or None,
            run_id=context.run or None,
            call_id=context.call_id,
        )
        draft = await store.write_draft(context.tenant, context.user, write)
        return {"id": draft.id, "key": draft.key, "version": draft.version}

    return store_draft_content
