"""What the routes of providers take."""

from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field

from agio.core.provider import ProviderFields, ProviderKind
from agio.gateway.routes.bodies import Body
from agio.gateway.tools.endpoints import DEMO


def _not_demo(name: str) -> str:
    if name == DEMO:
        raise ValueError("demo is the offline model: choose another name")
    return name


ProviderName: TypeAlias = Annotated[
    str,
    Field(
        max_length=64,
        pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$",
        description="Lower-case letters, digits and hyphens. Agents write it in `model_provider`.",
        json_schema_extra={"not": {"const": DEMO}},
    ),
    AfterValidator(_not_demo),
]
BaseUrl: TypeAlias = Annotated[
    str, Field(min_length=1, max_length=2000, description="Left out: the vendor's own address.")
]
ApiKey: TypeAlias = Annotated[
    str,
    Field(
        max_length=4096,
        pattern=r"^[!-~]+$",
        description="Written and never read: without spaces, line breaks and letters beyond ASCII.",
    ),
]
ModelName: TypeAlias = Annotated[str, Field(max_length=200, pattern=r"\S")]


class ProviderBody(Body):
    """A model provider of the team's. In a replacement, an `api_key` that is left out stays, and null removes it."""

    name: ProviderName
    kind: ProviderKind
    base_url: BaseUrl | None = None
    api_key: ApiKey | None = None
    models: Annotated[list[ModelName], Field(default_factory=list, max_length=200)]

    @property
    def keeps_key(self) -> bool:
        """Whether nothing was said of the key."""
        return "api_key" not in self.model_fields_set

    def fields(self) -> ProviderFields:
        """Return the provider as the store takes it, each model once."""
        return ProviderFields(
            name=self.name, kind=self.kind, base_url=self.base_url, models=list(dict.fromkeys(self.models))
        )


class ProviderTestBody(Body):
    """With which model to try; left out: the provider's first, or its service's list of models if there is none."""

    model: ModelName | None = None


class AddressBody(Body):
    """A base URL to check before it is saved."""

    base_url: Annotated[str, Field(min_length=1, max_length=2000)]


class ConnectionBody(Body):
    """A provider to try before it is kept. Without a model its service is asked for the list of them."""

    kind: ProviderKind
    base_url: BaseUrl | None = None
    api_key: ApiKey | None = None
    model: ModelName | None = None
