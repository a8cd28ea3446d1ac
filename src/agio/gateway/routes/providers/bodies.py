"""What the routes of providers take."""

from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field

from agio.core.provider import ProviderFields, ProviderKind
from agio.gateway.routes.body import Body
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
    str, Field(min_length=1, max_length=2000, description="Default: the vendor's address.")
]
ApiKey: TypeAlias = Annotated[
    str,
    Field(
        max_length=4096,
        pattern=r"^[!-~]+$",
        description="Write-only. Printable ASCII without spaces.",
    ),
]
ModelName: TypeAlias = Annotated[str, Field(max_length=200, pattern=r"\S")]


class ProviderBody(Body):
    """A model provider of the team. In a replacement, an omitted `api_key` is kept and null removes it."""

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
    """The model to test. Default: the provider's first; if it has none, the service's list of models."""

    model: ModelName | None = None


class AddressBody(Body):
    """A base URL to check before it is saved."""

    base_url: Annotated[str, Field(min_length=1, max_length=2000)]


class ConnectionBody(Body):
    """A provider to test before it is saved. Without a model the test requests the service's list of models."""

    kind: ProviderKind
    base_url: BaseUrl | None = None
    api_key: ApiKey | None = None
    model: ModelName | None = None
