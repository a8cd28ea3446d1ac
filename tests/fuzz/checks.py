"""What we demand of every answer beyond what schemathesis does. It loads this file itself."""

import os
import re
from typing import Any, TypeAlias, cast

import msgspec
import schemathesis
from schemathesis import Case, CheckContext, HookContext, Response
from schemathesis.generation import GenerationMode

AnyCase: TypeAlias = Case[Any]

OWN_KEY_ID = "AGIO_FUZZ_KEY_ID"
"""Names the key that the requests come with: nobody revokes it."""
_CODE = re.compile(r"`([a-z_]+)`")
_MALFORMED = frozenset({"invalid_body", "invalid_json", "invalid_query", "unsupported_media_type"})
"""What is refused without a look at what it means."""
_BEYOND_A_SCHEMA = (
    b"a null character",  # in any text: no schema of ours repeats it
    b"either client_message_id or Idempotency-Key",  # a header and a field that say the same differently
    b"name different sessions",  # so do a query and a form
    b"either after, or one of before and tail",  # two ways to page
    b"nested deeper",
    b"answer each question only once",
    b"the invisible character",  # in a name
    b"something to see",
)


class _Words(msgspec.Struct, forbid_unknown_fields=True):
    code: str
    message: str
    details: dict[str, object]


class _Refusal(msgspec.Struct, forbid_unknown_fields=True):
    error: _Words


def _code_of(response: Response) -> str | None:
    """Return the code of a refusal; None for a page, an MCP error, and a run that failed with a code of its own."""
    kind = response.headers.get("content-type", [""])[0]
    if response.status_code < 400 or not kind.startswith("application/json"):
        return None
    if response.content.startswith(b'{"jsonrpc"'):
        return None
    error = msgspec.json.decode(response.content, type=_Refusal).error
    return None if "run_id" in error.details else error.code


@schemathesis.check
def refused_with_a_documented_code(ctx: CheckContext, response: Response, case: AnyCase) -> bool | None:
    """A refusal has our shape, and its code is among those the description has for this operation and status."""
    code = _code_of(response)
    operation = cast("dict[str, dict[str, dict[str, str]]]", case.operation.definition.raw)
    documented = operation["responses"].get(str(response.status_code))
    if code is None or documented is None or code in ("not_found", "method_not_allowed"):
        return None  # another check demands that the status is described
    assert code in _CODE.findall(documented["description"]), (
        f"{code} is not described for {response.status_code}"
    )
    return None


@schemathesis.check
def described_data_is_understood(ctx: CheckContext, response: Response, case: AnyCase) -> bool | None:
    """Data that fits the description may be refused for what it means, never for its form."""
    if case.meta is None or case.meta.generation.mode is not GenerationMode.POSITIVE:
        return None
    if not any(words in response.content for words in _BEYOND_A_SCHEMA):
        assert _code_of(response) not in _MALFORMED, response.text[:300]
    return None


@schemathesis.check
def says_nothing_of_the_inside(ctx: CheckContext, response: Response, case: AnyCase) -> bool | None:
    """No answer has a stack trace, or a name of a class or file of ours; what runs here is asked for by name."""
    if case.path == "/api/about":
        return None
    for word in (b"Traceback", b'.py"', b"site-packages", b"sqlite", b"apsw"):
        assert word not in response.content, word
    return None


@schemathesis.hook  # pyright: ignore[reportUnknownMemberType]
def filter_case(context: HookContext, case: AnyCase) -> bool:
    """Leave our own key in force."""
    return os.environ[OWN_KEY_ID] not in (case.path_parameters or {}).values()
