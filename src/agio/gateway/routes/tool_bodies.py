"""What the routes of tools take."""

from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic.config import JsonDict

from agio.core.http_tool import HttpHeader, HttpMethod, HttpTool
from agio.core.store.repository import Approval, Effect
from agio.gateway.routes.bodies import Body, Identifier

MAX_SECRET_CHARS = 8192


def _no_parameters() -> dict[str, object]:
    return {"type": "object", "properties": {}}


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
    """A header of an HTTP tool. The value of a secret one is written and never read."""

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


class HttpToolBody(Body):
    """An HTTP tool. `url` has `{parameter}`s in its path and query; what else is given goes into query or body."""

    name: Annotated[str, Field(min_length=1, max_length=64)]
    description: Annotated[str, Field(max_length=2000)] = ""
    method: HttpMethod
    url: Annotated[str, Field(min_length=1, max_length=2000)]
    headers: Annotated[list[HeaderBody], Field(max_length=32, default_factory=list[HeaderBody])]
    parameters: Annotated[dict[str, object], Field(default_factory=_no_parameters)]
    """The JSON schema of the arguments."""
    result_path: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    """What of a JSON answer the model is given, such as `data.items.0.name`."""
    timeout_s: Annotated[float, Field(gt=0, le=120)] | None = None
    effect: Effect = "once"
    approval: Approval = "never"

    def http(self) -> HttpTool:
        """Return the tool as the store takes it, without its secrets."""
        return HttpTool(
            description=self.description,
            method=self.method,
            url=self.url,
            parameters=dict(self.parameters),
            headers=[
                HttpHeader(
                    name=header.name, value="" if header.secret else header.value or "", secret=header.secret
                )
                for header in self.headers
            ],
            result_path=self.result_path,
            timeout_s=self.timeout_s,
            effect=self.effect,
            approval=self.approval,
        )


class AssignmentBody(Body):
    """That an agent may use a tool; `approval` overrides the tool's own."""

    approval: Approval | None = None


class TrialBody(Body):
    """A call to try a tool with."""

    arguments: Annotated[dict[str, object], Field(default_factory=dict[str, object])]


class ExecuteBody(Body):
    """A tool call outside a run."""

    tool: Annotated[str, Field(min_length=1, max_length=64)]
    arguments: Annotated[dict[str, object], Field(default_factory=dict[str, object])]
    session_id: Identifier | None = None
    """The session it belongs to, and is deleted with."""
    approved: bool = False
    """That the caller approves a call that asks first: needs `build`, or their own session whose agent has the tool."""
