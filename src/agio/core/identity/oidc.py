"""OpenID providers as the operator names them: who may sign in there, and into which team they come."""

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
    """An OpenID provider. `id` is part of its addresses here, `name` is on the button."""

    id: str
    name: str
    issuer: str
    client_id: str
    client_secret: str | None = None
    """None: a public client, which proves itself by PKCE alone."""
    scopes: Sequence[str] = ("openid", "email", "profile")
    tenant: str | None = None
    """The team somebody new comes into; None: only people who were invited, or linked their account."""
    role: Role = "member"
    """What somebody new is there."""
    domains: Sequence[str] = ()
    """The domains an e-mail address must be of; empty: any."""
    claims: dict[str, str] = {}
    """What an ID token must say beside: by the claim's name."""


def read_providers(text: str) -> list[OidcProvider]:
    """Read the providers of a JSON list. Raises UserError `invalid_setting`, which repeats no secret."""
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
    """Whether a URL is https, or http to this machine, without userinfo and fragment, and without a query."""
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
        raise _wrong(f"{said}: the tenant is empty; leave it out if nobody new may come")


def _is_scope(scope: str) -> bool:
    return bool(scope) and scope.isascii() and scope.isprintable() and not set(' "\\') & set(scope)


def _wrong(words: str) -> UserError:
    return UserError(
        "invalid_setting",
        f'{VARIABLE} must be a JSON list such as [{{"id": "google", "name": "Google", "issuer": '
        f'"https://accounts.google.com", "client_id": "...", "client_secret": "..."}}]: {words}.',
        {"variable": VARIABLE},
    )
