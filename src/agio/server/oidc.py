"""The OpenID providers of a gateway, put together from the settings."""

from collections.abc import Sequence

from agio.core.identity.oidc import VARIABLE, OidcProvider
from agio.core.identity.team import TeamStore
from agio.core.url import DEFAULT_PORTS, bracketed, split_url
from agio.egress import Egress
from agio.errors import UserError
from agio.gateway.auth.oidc import OidcProviders


async def open_oidc(
    store: TeamStore, providers: Sequence[OidcProvider], base_url: str | None, allow: Sequence[str] = ()
) -> OidcProviders:
    """Make the providers' clients. Raises UserError `invalid_setting` for what cannot work."""
    if not providers:
        return OidcProviders()
    if base_url is None:
        raise UserError(
            "invalid_setting",
            f"{VARIABLE} needs AGIO_PUBLIC_URL, such as https://agio.example.com: providers send people back there.",
            {"variable": "AGIO_PUBLIC_URL"},
        )
    for provider in providers:
        await _check_tenant(store, provider)
    # The operator chose the issuer, wherever it is; what its metadata names beside is guarded like any address.
    return OidcProviders(
        [(provider, Egress([*allow, _origin(provider.issuer)])) for provider in providers], base_url
    )


async def _check_tenant(store: TeamStore, provider: OidcProvider) -> None:
    if provider.tenant is None:
        return
    try:
        await store.get_tenant(provider.tenant)
    except UserError as error:
        raise UserError(
            "invalid_setting",
            f"{VARIABLE}: provider {provider.id!r} names the tenant {provider.tenant!r}, which is not there.",
            {"variable": VARIABLE},
        ) from error


def _origin(issuer: str) -> str:
    """Return host and port, as the guard's exemptions are written."""
    parts = split_url(issuer, "http", "https")
    return f"{bracketed(parts.hostname or '')}:{parts.port or DEFAULT_PORTS[parts.scheme]}"
