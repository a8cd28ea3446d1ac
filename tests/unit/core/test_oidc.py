"""What an operator may say of OpenID providers, and what is refused of it."""

import json

import pytest

from agio.core.identity.oidc import OidcProvider, is_safe_url, read_providers
from agio.errors import UserError

GOOGLE = {
    "id": "google",
    "name": "Google",
    "issuer": "https://accounts.google.com",
    "client_id": "1234",
    "client_secret": "hush-hush",
}
WRONG: dict[str, object] = {
    "no list": {},
    "no object": ["google"],
    "nothing in it": [{}],
    "an unknown field": [{**GOOGLE, "tennant": "x"}],
    "an id that is no part of a path": [{**GOOGLE, "id": "a/b"}],
    "an id with a capital": [{**GOOGLE, "id": "Google"}],
    "no name": [{**GOOGLE, "name": " "}],
    "an issuer in the clear": [{**GOOGLE, "issuer": "http://accounts.google.com"}],
    "an issuer with a query": [{**GOOGLE, "issuer": "https://accounts.google.com/?a=b"}],
    "an issuer with a fragment": [{**GOOGLE, "issuer": "https://accounts.google.com/#a"}],
    "an issuer with a password": [{**GOOGLE, "issuer": "https://me:hush-hush@accounts.google.com"}],
    "an issuer that only looks like loopback": [{**GOOGLE, "issuer": "http://127.0.0.1.example.com"}],
    "an issuer with a backslash": [{**GOOGLE, "issuer": "https://accounts.google.com\\@evil.example"}],
    "an issuer without a host": [{**GOOGLE, "issuer": "https:///x"}],
    "an issuer with a wrong port": [{**GOOGLE, "issuer": "https://accounts.google.com:x"}],
    "no client": [{**GOOGLE, "client_id": ""}],
    "an empty secret": [{**GOOGLE, "client_secret": ""}],
    "no openid": [{**GOOGLE, "scopes": ["email"]}],
    "a scope of two words": [{**GOOGLE, "scopes": ["openid", "a b"]}],
    "an unknown role": [{**GOOGLE, "role": "king"}],
    "an address for a domain": [{**GOOGLE, "domains": ["ann@example.com"]}],
    "a wildcard for a domain": [{**GOOGLE, "domains": ["*.example.com"]}],
    "an empty tenant": [{**GOOGLE, "tenant": ""}],
    "a claim that is no text": [{**GOOGLE, "claims": {"hd": True}}],
    "two of one id": [GOOGLE, GOOGLE],
}


def test_a_provider_needs_four_fields() -> None:
    """R2: Google is one configuration of any provider; what is not said has a default."""
    [provider] = read_providers(json.dumps([{**GOOGLE, "client_secret": None}]))
    assert provider == OidcProvider(
        id="google", name="Google", issuer="https://accounts.google.com", client_id="1234"
    )
    assert (list(provider.scopes), provider.role) == (["openid", "email", "profile"], "member")
    assert (provider.tenant, list(provider.domains), provider.claims) == (None, [], {})
    assert read_providers("[]") == []


@pytest.mark.parametrize("issuer", ["http://127.0.0.1:3000", "http://[::1]:3000/realm", "http://localhost"])
def test_a_provider_on_this_machine_needs_no_tls(issuer: str) -> None:
    """R2: for development, and for a proxy beside the server."""
    assert read_providers(json.dumps([{**GOOGLE, "issuer": issuer}]))[0].issuer == issuer


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_work_is_refused_without_repeating_secrets(what: str) -> None:
    """R2: an operator learns at the start what is wrong."""
    with pytest.raises(UserError) as caught:
        read_providers(json.dumps(WRONG[what]))
    assert caught.value.code == "invalid_setting"
    assert "AGIO_OIDC" in caught.value.message
    assert "hush" not in caught.value.message


@pytest.mark.parametrize("text", ["nonsense", "", "[" * 100_000, '["\\ud800"]'])
def test_what_is_no_json_is_refused(text: str) -> None:
    """R2: also what only begins as JSON."""
    with pytest.raises(UserError) as caught:
        read_providers(text)
    assert caught.value.code == "invalid_setting"


def test_an_endpoint_may_have_a_query_where_an_issuer_may_not() -> None:
    """R2: some providers put their policy there."""
    assert is_safe_url("https://example.com/token?p=b2c", query=True)
    assert not is_safe_url("https://example.com/token?p=b2c")
