"""Query parameters and headers that several routes share."""

import re
from typing import Annotated, TypeAlias

from fastapi import Header, Path, Query, Request

from agio.errors import UserError

MAX_POS = 2**53 - 1
ID_CHARS = 200
KEY_PATTERN = r"^[!-~]{1,200}$"

After: TypeAlias = Annotated[
    str | None, Query(min_length=1, max_length=500, description="The `next` of the previous page.")
]
Before: TypeAlias = Annotated[
    str | None, Query(min_length=1, max_length=500, description="The `previous` of the following page.")
]
Tail: TypeAlias = Annotated[bool, Query(description="Start with the last page.")]
Leaf: TypeAlias = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=200,
        description="A run: read the path that leads to it. Omitted: the chosen one.",
    ),
]
Limit: TypeAlias = Annotated[int, Query(ge=1, le=200, description="The maximum number of items.")]
Search: TypeAlias = Annotated[str | None, Query(max_length=200, description="A part of the name or title.")]
SearchSessions: TypeAlias = Annotated[
    str | None, Query(max_length=200, description="A part of the title or of a message; case is ignored.")
]
AfterPos: TypeAlias = Annotated[
    int, Query(ge=0, le=MAX_POS, description="The last event the caller has; the response starts after it.")
]
Filter: TypeAlias = Annotated[str | None, Query(min_length=1, max_length=200)]
Id: TypeAlias = Annotated[str, Path(min_length=1, max_length=ID_CHARS)]
IfMatch: TypeAlias = Annotated[
    str | None,
    Header(
        alias="If-Match",
        pattern=r'^(\*|(W/)?"[!#-~]{1,100}")$',
        description="Replace only the version with this `ETag`: its `updated_at` in double quotes.",
    ),
]
IdempotencyKey: TypeAlias = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=KEY_PATTERN,
        description="A repeat with the same key and body returns the first result. Keys are kept for 7 days.",
    ),
]


def expected_version(request: Request, if_match: str | None) -> int | None:
    """Return the version to replace; None for any, -1 for a tag that is not ours.

    A weak tag counts too: a proxy that compresses responses weakens their tags. Raises UserError `invalid_query`
    for more than one If-Match line.
    """
    if len(request.headers.getlist("if-match")) > 1:
        raise UserError("invalid_query", "If-Match must name exactly one version.")
    if if_match is None or if_match == "*":
        return None
    tag = re.fullmatch(r'(?:W/)?"(\d{1,16})"', if_match, re.ASCII)
    return int(tag[1]) if tag else -1
