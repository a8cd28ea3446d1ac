"""Body and the field types that request bodies share. Unknown fields are refused; nothing is coerced."""

from typing import Annotated, TypeAlias

import msgspec
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    WithJsonSchema,
)
from pydantic.config import JsonDict

from agio.core.name import name_problem, seen
from agio.protocol.messages import Content, ContentPart

_PARTS = {"type": "array", "minItems": 1, "items": {"$ref": "#/components/schemas/ContentPart"}}


def _name(text: str) -> str:
    name = text.strip()
    if (problem := name_problem(name)) is not None:
        raise ValueError(problem)
    return name


def _name_or_none(text: str) -> str:
    return _name(text) if text.strip() else ""


def _title(text: str) -> str:
    """Reduce a title to visible characters on one line. Titles come from messages and identify no one."""
    return seen(" ".join(text.split()))


def _content(given: object) -> Content:
    if isinstance(given, str):
        return given
    try:
        parts = msgspec.convert(given, list[ContentPart])
    except msgspec.ValidationError as error:
        raise ValueError(f"it must be text or a list of AG-UI content parts ({error})") from None
    if not parts:
        raise ValueError("it must have at least one part")
    return parts


def _whole(given: object) -> object:
    """Take 7.0 for 7, as JSON schema does."""
    return int(given) if isinstance(given, float) and given.is_integer() else given


def any_given(**kinds: str) -> JsonDict:
    """Say in a schema that one of these fields is given, and not null."""
    return {
        "anyOf": [{"required": [name], "properties": {name: {"type": kind}}} for name, kind in kinds.items()]
    }


NOT_BLANK: JsonDict = {"pattern": r"\S"}
Name: TypeAlias = Annotated[
    str, Field(min_length=1, max_length=100, json_schema_extra=NOT_BLANK), AfterValidator(_name)
]
AS_WHOLE = BeforeValidator(_whole)
NameOrNone: TypeAlias = Annotated[str, Field(max_length=100), AfterValidator(_name_or_none)]
Title: TypeAlias = Annotated[str, Field(max_length=200), AfterValidator(_title)]
Identifier: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]
GivenContent: TypeAlias = Annotated[
    Content, PlainValidator(_content), WithJsonSchema({"anyOf": [{"type": "string"}, _PARTS]})
]


class Body(BaseModel):
    """A JSON object with these fields and no others, each of its own kind."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
