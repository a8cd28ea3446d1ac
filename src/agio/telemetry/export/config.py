"""Where traces go, as the operator's settings say."""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from agio.core.store.traces import Sink
from agio.telemetry.export.openai import ENDPOINT
from agio.telemetry.export.sender import TIMEOUT_S


class OpenAITraces(Struct, frozen=True, kw_only=True):
    """OpenAI's dashboard, or a service that takes the same format."""

    endpoint: str = ENDPOINT
    api_key: str | None = None
    """The operator's key; None: requests have none."""
    organization: str | None = None
    project: str | None = None
    timeout_s: float = TIMEOUT_S

    @property
    def is_openai(self) -> bool:
        """Whether it is OpenAI's own service, which gets keys of OpenAI only."""
        return self.endpoint == ENDPOINT


class OtlpExport(Struct, frozen=True, kw_only=True):
    """A collector that takes OTLP over HTTP. An empty address: it gets none of these."""

    traces_url: str = ""
    metrics_url: str = ""
    headers: Sequence[tuple[str, str]] = ()
    metrics_headers: Sequence[tuple[str, str]] = ()
    resource: Mapping[str, str] = field(default_factory=dict[str, str])
    """Attributes of this server, such as `service.name`."""
    protobuf: bool = False
    """Whether it takes protobuf; else JSON."""
    content: bool = False
    """Whether spans have texts: prompts, answers, arguments and results."""
    openinference: bool = False
    """Whether spans also have the attributes of OpenInference, which Arize Phoenix reads."""
    timeout_s: float = TIMEOUT_S


class TraceSettings(Struct, frozen=True, kw_only=True):
    """The services that traces are sent to; None: not to this one."""

    openai: OpenAITraces | None = None
    otlp: OtlpExport | None = None
    link: str = ""
    """The address of a trace in the collector's pages, with `{trace_id}`; empty: there are no links."""

    @property
    def sinks(self) -> list[Sink]:
        """The services, by name."""
        found: list[Sink] = []
        if self.openai is not None:
            found.append("openai")
        if self.otlp is not None:
            found.append("otlp")
        return found
