"""The only reader of the environment. Other modules receive the settings as values."""

import math
import os
import re
from collections.abc import Mapping, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, cast, get_args
from urllib.parse import unquote

import msgspec
from msgspec import Meta, Struct, field

from agio.bus.options import NatsOptions
from agio.core.config import Price, ServerLimits
from agio.core.identity.oidc import OidcProvider, read_providers
from agio.core.mcp import SERVER_NAME, SERVER_NAME_CHARS
from agio.core.passage import EmbeddingModel
from agio.core.url import split_url, with_port
from agio.drivers.endpoint import Endpoint
from agio.drivers.registry import SERVICES
from agio.errors import UserError
from agio.telemetry.export.config import OpenAITraces, OtlpExport, TraceSettings
from agio.telemetry.export.openai import ENDPOINT, SERVICE
from agio.telemetry.logging import Format, Level
from agio.tools.mcp.link import Command
from agio.vault import load_keys

SHORTEST_KEY = 32
_NAME_CHARS = 100
"""The minimum length of a key that the operator chooses."""
_NOT_FOR_WORKERS = {
    "AGIO_SECRET_KEY",
    "AGIO_DATABASE_URL",
    "AGIO_NATS_URL",
    "AGIO_NATS_CREDENTIALS",
    "AGIO_NATS_CA",
    "AGIO_NATS_CERT",
    "AGIO_NATS_KEY",
    "AGIO_GATEWAY_NAME",
    "AGIO_BOOTSTRAP_API_KEY",
    "AGIO_OIDC",
}
"""What a worker has no use for, and must not hold (law 9)."""


class Settings(Struct, frozen=True):
    """The settings of every command and of the library."""

    data_dir: Path
    endpoints: dict[str, Endpoint]

    def endpoint(self, provider: str) -> Endpoint:
        """Return the address and key of a provider; an empty endpoint if neither is set."""
        return self.endpoints.get(provider, Endpoint())

    def with_models(self) -> list[str]:
        """Return the providers that have a key or an address."""
        return [name for name, end in self.endpoints.items() if end.api_key or end.base_url]


class ServerSettings(Struct, frozen=True, kw_only=True):
    """The settings of a gateway, of a worker, and of a command that calls a server."""

    database_url: str | None = None
    nats: NatsOptions | None = None
    """The bus between gateways."""
    gateway_name: str | None = None
    """This gateway's name among those that share its database."""
    gateway_url: str | None = None
    worker_key: str | None = None
    bootstrap_api_key: str | None = None
    secret_keys: Sequence[bytes] = ()
    """The master keys of credentials at rest; the first one seals."""
    egress_allow: Sequence[str] = ()
    """The destinations that may be called although they are not public."""
    api_key: str | None = None
    public_url: str | None = None
    """The server's public origin, without a path."""
    trusted_proxies: list[IPv4Network | IPv6Network] = []
    oidc: Sequence[OidcProvider] = ()
    """The OpenID providers for sign-in."""
    log_format: Format | None = None
    """The log format; None: text on a terminal, JSON otherwise."""
    log_level: Level | None = None
    """The log level; None: `info`, without request lines on a terminal."""
    limits: ServerLimits = ServerLimits()
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    """Prices of models, by `provider:model`."""
    currency: str = "USD"
    """The currency of the prices."""
    embeddings: EmbeddingModel | None = None
    """The model that makes vectors of memories; None: they are searched by words and time."""
    traces: TraceSettings = TraceSettings()
    """Where the traces of runs are sent."""


def load_settings() -> Settings:
    """Read the settings of every command from the environment."""
    data = os.environ.get("AGIO_DATA")
    return Settings(
        data_dir=Path(data) if data else Path.home() / ".agio",
        endpoints={
            name: Endpoint(
                base_url=os.environ.get(provider.url_variable) or None,
                api_key=os.environ.get(provider.key_variable) or None,
            )
            for name, provider in SERVICES.items()
        },
    )


def load_server_settings() -> ServerSettings:
    """Read the server's settings from the environment. Raises UserError `invalid_setting`."""
    return ServerSettings(
        database_url=os.environ.get("AGIO_DATABASE_URL") or None,
        nats=_nats(),
        gateway_name=_gateway_name(),
        gateway_url=os.environ.get("AGIO_GATEWAY_URL") or None,
        worker_key=_long_key("AGIO_WORKER_KEY"),
        bootstrap_api_key=_long_key("AGIO_BOOTSTRAP_API_KEY"),
        secret_keys=_secret_keys(),
        egress_allow=os.environ.get("AGIO_EGRESS_ALLOW", "").replace(",", " ").split(),
        api_key=os.environ.get("AGIO_API_KEY") or None,
        public_url=read_public_url(os.environ.get("AGIO_PUBLIC_URL") or None),
        trusted_proxies=_networks("AGIO_TRUSTED_PROXIES"),
        oidc=read_providers(os.environ.get("AGIO_OIDC") or "[]"),
        log_format=cast("Format | None", _choice("AGIO_LOG_FORMAT", get_args(Format))),
        log_level=cast("Level | None", _choice("AGIO_LOG_LEVEL", get_args(Level))),
        limits=_limits(os.environ.get("AGIO_LIMITS") or "{}"),
        prices=_prices(os.environ.get("AGIO_PRICES") or "{}"),
        currency=_currency(os.environ.get("AGIO_CURRENCY") or "USD"),
        embeddings=read_embeddings(os.environ.get("AGIO_EMBEDDINGS") or None),
        traces=_traces(),
    )


class _Stdio(Struct, frozen=True, forbid_unknown_fields=True):
    """`[mcp.NAME]` of the operator's file."""

    command: str
    args: list[str] = []
    env: dict[str, str] = {}
    env_from: list[str] = []
    tenants: list[str] | None = None
    memory_mb: Annotated[int, Meta(ge=64)] = 2048


class _Config(Struct, frozen=True, forbid_unknown_fields=True):
    """The operator's file, agio.toml."""

    mcp: dict[str, _Stdio] = {}


def load_commands(data: Path) -> dict[str, Command]:
    """Read the stdio MCP servers from the operator's file, `AGIO_CONFIG` or `agio.toml` here or in the data folder.

    Raises UserError `invalid_setting`.
    """
    named = os.environ.get("AGIO_CONFIG")
    places = [Path(named)] if named else [Path("agio.toml"), data.expanduser() / "agio.toml"]
    path = next((place for place in places if named or place.is_file()), None)
    if path is None:
        return {}
    try:
        config = msgspec.toml.decode(path.read_bytes(), type=_Config)
        if os.name == "posix" and path.stat().st_mode & 0o002:
            raise msgspec.ValidationError("everybody may write it, and it names commands to run: chmod o-w")
        return {name: _command(name, said) for name, said in config.mcp.items()}
    except (OSError, msgspec.DecodeError, UnicodeError) as error:
        raise UserError("invalid_setting", f"{path} cannot be used: {error}.", {"file": str(path)}) from error


def _command(name: str, said: _Stdio) -> Command:
    """Return a server's command with all of its environment: nothing else of ours is passed on."""
    if len(name) > SERVER_NAME_CHARS or not re.match(SERVER_NAME, name):
        raise msgspec.ValidationError(
            f"mcp.{name}: a name has up to {SERVER_NAME_CHARS} letters, digits, _ and -"
        )
    if missing := [variable for variable in said.env_from if variable not in os.environ]:
        raise msgspec.ValidationError(f"mcp.{name}: {', '.join(missing)} of env_from is not set")
    return Command(
        command=said.command,
        args=said.args,
        env={
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            **{variable: os.environ[variable] for variable in said.env_from},
            **said.env,
        },
        tenants=said.tenants,
        memory_mb=said.memory_mb,
    )


def worker_environment(**added: str) -> dict[str, str]:
    """Return the environment of a worker process: this one with `added`, without database address and master key."""
    kept = {name: value for name, value in os.environ.items() if name not in _NOT_FOR_WORKERS}
    return {**kept, **added}


def held_by_worker() -> list[str]:
    """Return the variables that are set and that a worker must not hold: addresses and keys of the gateways."""
    return [
        name for name in ("AGIO_DATABASE_URL", "AGIO_NATS_URL", "AGIO_SECRET_KEY") if os.environ.get(name)
    ]


def _nats() -> NatsOptions | None:
    servers = os.environ.get("AGIO_NATS_URL", "").replace(",", " ").split()
    for server in servers:
        try:
            split_url(server, "nats", "tls")
        except ValueError as error:
            raise UserError(
                "invalid_setting",
                f"AGIO_NATS_URL must be addresses such as nats://10.0.0.7:4222 ({error}).",
                {"variable": "AGIO_NATS_URL"},
            ) from error
    options = NatsOptions(
        servers=servers,
        credentials=_file("AGIO_NATS_CREDENTIALS"),
        ca_file=_file("AGIO_NATS_CA"),
        cert_file=_file("AGIO_NATS_CERT"),
        key_file=_file("AGIO_NATS_KEY"),
    )
    return options if servers else None


def _file(variable: str) -> str | None:
    path = os.environ.get(variable) or None
    if path is not None and not Path(path).is_file():
        raise UserError(
            "invalid_setting", f"{variable} names {path}, which is not a file.", {"variable": variable}
        )
    return path


def _gateway_name() -> str | None:
    name = os.environ.get("AGIO_GATEWAY_NAME") or None
    if name is not None and (len(name) > _NAME_CHARS or not name.isascii() or not name.isprintable()):
        raise UserError(
            "invalid_setting",
            f"AGIO_GATEWAY_NAME must have at most {_NAME_CHARS} plain characters.",
            {"variable": "AGIO_GATEWAY_NAME"},
        )
    return name


def cluster_environment(**added: str) -> dict[str, str]:
    """Return the environment of a cluster's gateway: this one with `added`."""
    return {**os.environ, **added}


def _secret_keys() -> list[bytes]:
    text = os.environ.get("AGIO_SECRET_KEY")
    return load_keys(text) if text else []


def _choice(variable: str, choices: Sequence[str]) -> str | None:
    value = os.environ.get(variable, "").lower()
    if value and value not in choices:
        known = ", ".join(choices)
        raise UserError("invalid_setting", f"{variable} must be one of {known}.", {"variable": variable})
    return value or None


def _long_key(variable: str) -> str | None:
    value = os.environ.get(variable) or None
    if value is not None and (len(value) < SHORTEST_KEY or not value.isascii() or not value.isprintable()):
        raise UserError(
            "invalid_setting",
            f"{variable} must have at least {SHORTEST_KEY} plain characters, it has {len(value)}. Make one: "
            "python3 -c 'import secrets; print(secrets.token_urlsafe(32))'",
            {"variable": variable},
        )
    return value


def read_public_url(given: str | None) -> str | None:
    """Return a public URL as an origin, in lower case. Raises UserError `invalid_setting`."""
    if given is None:
        return None
    try:
        parts = split_url(given, "http", "https")
        if parts.username or parts.password or parts.query or parts.fragment or parts.path.strip("/"):
            raise ValueError  # noqa: TRY301
        given.encode("ascii")
    except ValueError:
        raise UserError(
            "invalid_setting",
            f"The public URL must be like https://agio.example.com, without a path, not {given!r}.",
            {"variable": "AGIO_PUBLIC_URL"},
        ) from None
    return f"{parts.scheme}://{with_port(parts.scheme, (parts.hostname or '').rstrip('.'), parts.port)}"


def read_embeddings(given: str | None) -> EmbeddingModel | None:
    """Read the model of vectors, `provider:model` or `provider:model@size`. Raises UserError `invalid_setting`."""
    if given is None:
        return None
    found = re.fullmatch(r"([^:@]+):([^@]+?)(?:@(\d{1,5}))?", given.strip())
    if found is None or found[3] == "0":
        raise UserError(
            "invalid_setting",
            "AGIO_EMBEDDINGS must be like openai:text-embedding-3-small or gemini:gemini-embedding-2@768, "
            f"not {given!r}.",
            {"variable": "AGIO_EMBEDDINGS"},
        )
    return EmbeddingModel(found[1], found[2], int(found[3]) if found[3] else None)


def _traces() -> TraceSettings:
    """Read where traces go. `AGIO_TRACES=off` sends none; both services have a variable of their own besides."""
    if _choice("AGIO_TRACES", ("on", "off")) == "off":
        return TraceSettings()
    link = os.environ.get("AGIO_TRACE_URL", "")
    if link and ("{trace_id}" not in link or not link.startswith(("http://", "https://"))):
        raise UserError(
            "invalid_setting",
            "AGIO_TRACE_URL must be the address of a trace, with {trace_id}: such as "
            "https://traces.example.com/trace/{trace_id}.",
            {"variable": "AGIO_TRACE_URL"},
        )
    openai = None if _is_on("OPENAI_AGENTS_DISABLE_TRACING") else _openai_traces()
    otlp = None if _is_on("OTEL_SDK_DISABLED") else _otlp()
    return TraceSettings(openai=openai, otlp=otlp, link=link)


def _openai_traces() -> OpenAITraces | None:
    """Read the dashboard's address and key. A key of another service than OpenAI does not go to OpenAI."""
    endpoint = _address("OPENAI_TRACES_ENDPOINT")
    base = os.environ.get("OPENAI_BASE_URL") or SERVICE
    read = OpenAITraces(
        endpoint=endpoint or ENDPOINT,
        api_key=os.environ.get("OPENAI_API_KEY") or None,
        organization=os.environ.get("OPENAI_ORG_ID") or None,
        project=os.environ.get("OPENAI_PROJECT_ID") or None,
    )
    return read if endpoint or (read.api_key and f"{base}/".startswith(SERVICE)) else None


def _otlp() -> OtlpExport | None:
    """Read the collector's address, by OpenTelemetry's names."""
    base = _address("OTEL_EXPORTER_OTLP_ENDPOINT").rstrip("/")
    headers = _pairs("OTEL_EXPORTER_OTLP_HEADERS")
    urls: dict[str, str] = {}
    given: dict[str, list[tuple[str, str]]] = {}
    for signal in ("traces", "metrics"):
        prefix = f"OTEL_EXPORTER_OTLP_{signal.upper()}"
        url = _address(f"{prefix}_ENDPOINT") or (base and f"{base}/v1/{signal}")
        is_off = os.environ.get(f"OTEL_{signal.upper()}_EXPORTER") == "none"
        urls[signal] = "" if is_off else url
        given[signal] = list((headers | _pairs(f"{prefix}_HEADERS")).items())
    name = os.environ.get("OTEL_SERVICE_NAME")
    resource = _pairs("OTEL_RESOURCE_ATTRIBUTES")
    protocol = os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "")
    read = OtlpExport(
        traces_url=urls["traces"],
        metrics_url=urls["metrics"],
        headers=given["traces"],
        metrics_headers=given["metrics"],
        resource={"service.name": "agio"} | resource | ({"service.name": name} if name else {}),
        protobuf=protocol == "http/protobuf",
        content=_is_on("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"),
        openinference=_is_on("AGIO_OPENINFERENCE"),
    )
    if not any(urls.values()):
        return None
    if protocol == "grpc":
        raise UserError(
            "invalid_setting",
            "Traces are sent over HTTP: set OTEL_EXPORTER_OTLP_PROTOCOL to http/json, and the endpoint to the "
            "collector's HTTP port, usually 4318.",
            {"variable": "OTEL_EXPORTER_OTLP_PROTOCOL"},
        )
    return read


def _is_on(variable: str) -> bool:
    return os.environ.get(variable, "").lower() in ("1", "true", "yes", "on")


def _address(variable: str) -> str:
    url = os.environ.get(variable) or ""
    try:
        if url:
            split_url(url, "http", "https")
    except ValueError as error:
        raise UserError(
            "invalid_setting",
            f"{variable} must be an address such as https://collector.example.com:4318, not {url!r}.",
            {"variable": variable},
        ) from error
    return url


def _pairs(variable: str) -> dict[str, str]:
    """Read `name=value` pairs, with commas between them and values as in a URL."""
    pairs: dict[str, str] = {}
    for pair in filter(None, os.environ.get(variable, "").split(",")):
        name, equals, value = pair.partition("=")
        if not name.strip() or not equals:
            raise UserError(
                "invalid_setting",
                f"{variable} must be like name=value,other=value.",
                {"variable": variable},
            )
        pairs[name.strip()] = unquote(value.strip())
    return pairs


def _networks(variable: str) -> list[IPv4Network | IPv6Network]:
    networks: list[IPv4Network | IPv6Network] = []
    for part in os.environ.get(variable, "").replace(",", " ").split():
        try:
            networks.append(ip_network(part, strict=False))
        except ValueError as error:
            raise UserError(
                "invalid_setting",
                f"{variable} must be addresses or networks such as 127.0.0.1, 10.0.0.0/8; {part!r} is neither.",
                {"variable": variable},
            ) from error
    return networks


def _limits(text: str) -> ServerLimits:
    try:
        given = msgspec.json.decode(text, type=dict[str, object])
        unknown = [name for name in given if name not in ServerLimits.__struct_fields__]
        if unknown:
            known = ", ".join(ServerLimits.__struct_fields__)
            raise msgspec.ValidationError(f"there is no limit {unknown[0]!r}; the limits are {known}")
        limits = msgspec.convert(cast(object, given), ServerLimits)
        for name in given:
            if getattr(limits, name) <= 0:
                raise msgspec.ValidationError(f"{name} must be above 0")
        return limits
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise UserError(
            "invalid_setting",
            f'AGIO_LIMITS must be a JSON object such as {{"running_per_user": 5}}: {error}.',
            {"variable": "AGIO_LIMITS"},
        ) from error


def _currency(code: str) -> str:
    if len(code) != 3 or not (code.isascii() and code.isalpha()):
        raise UserError(
            "invalid_setting",
            "AGIO_CURRENCY must be the three letters of a currency, such as USD or EUR.",
            {"variable": "AGIO_CURRENCY"},
        )
    return code.upper()


def _prices(text: str) -> dict[str, Price]:
    try:
        given = msgspec.json.decode(text, type=dict[str, dict[str, float | None]])
        for model, price in given.items():
            provider, _, name = model.partition(":")
            if not provider or not name:
                raise msgspec.ValidationError(f"{model!r} is not like provider:model")
            for key, value in price.items():
                if key not in Price.__struct_fields__:
                    known = ", ".join(Price.__struct_fields__)
                    raise msgspec.ValidationError(
                        f"{model}: there is no price {key!r}; the prices are {known}"
                    )
                if value is not None and not (value >= 0 and math.isfinite(value)):
                    raise msgspec.ValidationError(f"{model}: {key} must be 0 or more")
        return msgspec.convert(given, dict[str, Price])
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise UserError(
            "invalid_setting",
            f'AGIO_PRICES must be a JSON object such as {{"openai:gpt-x": {{"input": 1.25, "output": 10}}}}, '
            f"what a million tokens cost: {error}.",
            {"variable": "AGIO_PRICES"},
        ) from error
