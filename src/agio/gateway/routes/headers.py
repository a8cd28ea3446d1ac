"""The headers that a tool or a server is sent, as requests bring them and as clients see them."""

from collections.abc import Sequence
from typing import Annotated, Self

from msgspec import Struct
from pydantic import ConfigDict, Field, model_validator
from pydantic.config import JsonDict

from agio.core.http_tool import HttpHeader
from agio.gateway.routes.body import Body

MAX_SECRET_CHARS = 8192
_WITH_VALUE: JsonDict = {
    "anyOf": [
        {"required": ["value"], "properties": {"value": {"type": "string"}, "secret": {"const": False}}},
        {
            "required": ["secret"],
            "properties": {"value": {"type": ["string", "null"], "minLength": 1}, "secret": {"const": True}},
        },
    ]
}


class HeaderBody(Body):
    """A header of requests. The value of a secret header is write-only."""

    model_config = ConfigDict(json_schema_extra=_WITH_VALUE)

    name: Annotated[str, Field(min_length=1, max_length=200)]
    value: Annotated[str, Field(max_length=MAX_SECRET_CHARS)] | None = None
    """May be left out for a secret header that has one: it stays as it is."""
    secret: bool = False

    @model_validator(mode="after")
    def _has_value(self) -> Self:
        if self.value is None and not self.secret:
            raise ValueError("give the header a value")
        if self.value == "" and self.secret:
            raise ValueError("a secret must not be empty")
        return self


def headers_of(given: Sequence[HeaderBody]) -> list[HttpHeader]:
    """Return headers as the store takes them, without the values of secret ones."""
    return [
        HttpHeader(name=header.name, value="" if header.secret else header.value or "", secret=header.secret)
        for header in given
    ]


class HeaderView(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A header of requests. A secret one has no value here."""

    name: str
    value: str | None = None
    secret: bool = False


def headers_view(headers: Sequence[HttpHeader]) -> list[HeaderView]:
    """Show headers, without the values of secret ones."""
    return [
        HeaderView(name=header.name, secret=True)
        if header.secret
        else HeaderView(name=header.name, value=header.value)
        for header in headers
    ]
