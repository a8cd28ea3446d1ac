"""OpenID providers in the operator's configuration: who may sign in there, and which team new people join."""

import re
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from agio.core.identity.principal import Role
from agio.core.url import split_url
from agio.errors import UserError

VARIABLE = "AGIO_OIDC"
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")
_DOMAIN = re.compile(r"(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+")
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class OidcProvider(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An OpenID provider. `id` is part of its URLs here; `name` is the button's label."""

    id: str
    name: str
    issuer: str
    client_id: str
    client_secret: str | None = None
    """The client's secret. None: a public client, which uses PKCE alone."""
    scopes: Sequence[str] = ("openid", "email", "profile")
    tenant: str | None = None
    """The team that new people join. None: only invited people and people with a linked account may sign in."""
    role: Role = "member"
    """The role of new people in that team."""
    domains: Sequence[str] = ()
    """The accepted e-mail domains; empty: any."""
    claims: dict[str, str] = {}
    """Further claims that an ID token must have, by name."""


def read_providers(text: str) -> list[OidcProvider]:
    """Parse a JSON list of providers. Raises UserError `invalid_setting`, whose message has no secret."""
    try:
        providers = msgspec.json.decode(text, type=list[OidcProvider])
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise _wrong(f"{error}") from error
    for provider in providers:
        _check(provider)
    ids = [provider.id for provider in providers]
    if len(set(ids)) < len(ids):
        raise _wrong("two providers have the same id")
    return providers


def is_safe_url(url: str, *, query: bool = False) -> bool:
    """Whether a URL is https, or http to a loopback host, without userinfo or fragment; `query` allows a query."""
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return False
    try:
        parts = split_url(url, "http", "https")
    except ValueError:
        return False
    if parts.username is not None or parts.password is not None:
        return False
    if "#" in url or ("?" in url and not query):
        return False
    return parts.scheme == "https" or parts.hostname in _LOOPBACK


def _check(provider: OidcProvider) -> None:
    if not _ID.fullmatch(provider.id):
        raise _wrong(f"the id {provider.id[:40]!r} must be up to 32 of a-z, 0-9 and -")
    said = f"provider {provider.id!r}"
    if not provider.name.strip() or len(provider.name) > 60:
        raise _wrong(f"{said}: the name must have 1 to 60 characters")
    if not is_safe_url(provider.issuer):
        raise _wrong(
            f"{said}: the issuer must be an https URL without a query (http only for this machine's loopback)"
        )
    if not provider.client_id:
        raise _wrong(f"{said}: the client_id is empty")
    if provider.client_secret == "":
        raise _wrong(f"{said}: the client_secret is empty; leave it out for a public client")
    if "openid" not in provider.scopes or not all(_is_scope(scope) for scope in provider.scopes):
        raise _wrong(f"{said}: the scopes must be words, 'openid' among them")
    for domain in provider.domains:
        if not _DOMAIN.fullmatch(domain.lower()):
            raise _wrong(f"{said}: {domain[:80]!r} is no domain; write it without @, such as example.com")
    if provider.tenant == "":
        raise _wrong(f"{said}: the tenant is empty; leave it out to admit no new users")


def _is_scope(scope: str) -> bool:
    return bool(scope) and scope.isascii() and scope.isprintable() and not set(' "\\') & set(scope)


def _wrong(words: str) -> UserError:
    return UserError(
        "invalid_setting",
        f'{VARIABLE} must be a JSON list such as [{{"id": "google", "name": "Google", "issuer": '
        f'"https://accounts.google.com", "client_id": "...", "client_secret": "..."}}]: {words}.',
        {"variable": VARIABLE},
    )
