"""What the routes of tools take."""

from typing import Annotated

from pydantic import Field

from agio.core.http_tool import HttpMethod, HttpTool
from agio.core.store.repository import Approval, Effect
from agio.gateway.routes.body import Body, Identifier
from agio.gateway.routes.headers import HeaderBody, headers_of


def _no_parameters() -> dict[str, object]:
    return {"type": "object", "properties": {}}


class HttpToolBody(Body):
    """An HTTP tool. `url` has `{parameter}`s in path and query; other arguments go into the query or the body."""

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
            headers=headers_of(self.headers),
            result_path=self.result_path,
            timeout_s=self.timeout_s,
            effect=self.effect,
            approval=self.approval,
        )


class TrialBody(Body):
    """The arguments of a test call."""

    arguments: Annotated[dict[str, object], Field(default_factory=dict[str, object])]


class ExecuteBody(Body):
    """A tool call outside a run."""

    tool: Annotated[str, Field(min_length=1, max_length=64)]
    arguments: Annotated[dict[str, object], Field(default_factory=dict[str, object])]
    session_id: Identifier | None = None
    """The session it belongs to, and is deleted with."""
    approved: bool = False
    """That the caller approves a call that asks first: needs `build`, or their own session whose agent has the tool."""
