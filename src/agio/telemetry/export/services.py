"""The services that take traces: each encodes a batch in its format and sends it."""

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import msgspec
from msgspec import Struct

from agio.core.store.traces import Sink
from agio.telemetry.export.config import OpenAITraces, OtlpExport, TraceSettings
from agio.telemetry.export.metrics import ModelMetrics
from agio.telemetry.export.openai import HEADERS, encode_openai
from agio.telemetry.export.otlp import encode_metrics, encode_otlp
from agio.telemetry.export.sender import Sender
from agio.telemetry.export.trace import Trace

Batch: TypeAlias = Sequence[tuple[Trace, bool]]
"""Traces, each with whether it is sent with content."""


class Service(Protocol):
    """A service that takes traces."""

    @property
    def name(self) -> Sink:
        """The service's name."""
        ...

    @property
    def url(self) -> str:
        """Its address."""
        ...

    @property
    def wants_content(self) -> bool:
        """Whether it is to have texts, if the team lets it."""
        ...

    async def send(self, batch: Batch, key: str | None) -> str:
        """Send traces, with a key. Return what the service complains about, although it took them; else empty.

        Raises ExportError.
        """
        ...

    async def finish(self, sent: Sequence[Trace]) -> None:
        """Send what there is to say about traces that were sent. Raises ExportError."""
        ...

    async def aclose(self) -> None:
        """Close its connections."""
        ...


class OpenAIService:
    """OpenAI's dashboard."""

    name: Sink = "openai"
    wants_content = True

    def __init__(self, settings: OpenAITraces, allow: Sequence[str] = ()) -> None:
        self.settings = settings
        self.url = settings.endpoint
        self._sender = Sender(settings.endpoint, allow, settings.timeout_s)

    async def send(self, batch: Batch, key: str | None) -> str:
        """Send traces with a key: the operator's, or a team's own."""
        headers = list(HEADERS)
        if key is not None:
            headers.append(("Authorization", f"Bearer {key}"))
        if key is not None and key == self.settings.api_key:  # they name the operator's account
            given = (
                ("OpenAI-Organization", self.settings.organization),
                ("OpenAI-Project", self.settings.project),
            )
            headers += [(name, value) for name, value in given if value]
        for body in encode_openai(batch):
            await self._sender.post(headers, body)
        return ""

    async def finish(self, sent: Sequence[Trace]) -> None:
        """Do nothing."""

    async def aclose(self) -> None:
        """Close its connections."""
        await self._sender.aclose()


class _PartialSuccess(Struct, rename="camel"):
    rejected_spans: int | str = 0
    error_message: str = ""


class _Taken(Struct, rename="camel"):
    partial_success: _PartialSuccess | None = None


class OtlpService:
    """A collector that takes OTLP over HTTP."""

    name: Sink = "otlp"

    def __init__(self, settings: OtlpExport, allow: Sequence[str] = ()) -> None:
        self.url = settings.traces_url or settings.metrics_url
        self.wants_content = settings.content
        self._settings = settings
        kind = "application/x-protobuf" if settings.protobuf else "application/json"
        self._type = ("Content-Type", kind)
        self._metrics = ModelMetrics()
        self._sender, self._metrics_sender = (
            Sender(url, allow, settings.timeout_s) if url else None
            for url in (settings.traces_url, settings.metrics_url)
        )

    async def send(self, batch: Batch, key: str | None) -> str:
        """Send traces. The collector may take a request and reject spans of it."""
        if self._sender is None:
            return ""
        said = await self._sender.post(
            [self._type, *self._settings.headers], encode_otlp(batch, self._settings)
        )
        if self._settings.protobuf:  # an empty answer: it took everything
            return "It rejected some of the spans." if said else ""
        try:
            partial = msgspec.json.decode(said or b"{}", type=_Taken).partial_success
        except (msgspec.MsgspecError, UnicodeError):
            return ""
        if partial is None or not int(partial.rejected_spans):
            return ""
        return f"It rejected {partial.rejected_spans} spans. It says: {partial.error_message[:200]}"

    async def finish(self, sent: Sequence[Trace]) -> None:
        """Send the metrics of all model calls so far: sums since this process started."""
        if self._metrics_sender is None:
            return
        for trace in sent:
            self._metrics.observe(trace)
        headers = [self._type, *self._settings.metrics_headers]
        await self._metrics_sender.post(headers, encode_metrics(self._metrics, self._settings))

    async def aclose(self) -> None:
        """Close its connections."""
        for sender in (self._sender, self._metrics_sender):
            if sender is not None:
                await sender.aclose()


def open_services(settings: TraceSettings, allow: Sequence[str] = ()) -> list[Service]:
    """Make the services of the settings."""
    services: list[Service] = []
    if settings.openai is not None:
        services.append(OpenAIService(settings.openai, allow))
    if settings.otlp is not None:
        services.append(OtlpService(settings.otlp, allow))
    return services
