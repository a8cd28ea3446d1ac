"""Validation of ID tokens: signature, issuer, audience, times, nonce and subject. Used by oidc_client.py."""

import hmac
import time
from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

import msgspec
from msgspec import Struct

from agio.errors import UserError
from agio.protocol.messages import Json

Claims: TypeAlias = dict[str, Json]
Key: TypeAlias = dict[str, Json]

ASYMMETRIC = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)
"""The allowed algorithms: no shared secrets, and never `none`."""
LEEWAY_S = 60
"""The tolerated clock skew."""
_PUBLIC = ("kty", "crv", "n", "e", "x", "y")
_LONGEST_MODULUS = 1400
"""Base64 characters: 8192 bits."""
_LONGEST = 255


class Expected(Struct, frozen=True, kw_only=True):
    """The expected values of a token."""

    issuer: str
    client_id: str
    nonce: str
    algorithms: Sequence[str]
    claims: Mapping[str, str]


class Header(Struct, frozen=True):
    """The unverified header of a token."""

    alg: str
    kid: str | None = None


def refuse_token(reason: str, words: str) -> UserError:
    """Return the error of an invalid token."""
    return UserError(
        "invalid_id_token",
        f"The sign-in provider's response is invalid: {words}. Try again; if this persists, contact the operator.",
        {"reason": reason},
    )


def read_header(token: str, algorithms: Sequence[str]) -> Header:
    """Read the unverified header of a token. Raises UserError `invalid_id_token`."""
    import jwt

    try:
        header = msgspec.convert(jwt.get_unverified_header(token), Header)
    except (jwt.PyJWTError, msgspec.ValidationError) as error:
        raise refuse_token("malformed", "its token is malformed") from error
    if header.alg not in ASYMMETRIC or header.alg not in algorithms:
        raise refuse_token("algorithm", "its token uses a signature algorithm that is not allowed")
    return header


def find_key(keys: Sequence[Key], header: Header) -> Key | None:
    """Return the key a token names; without a name, the only one that fits."""
    fitting = [
        key
        for key in keys
        if key.get("use", "sig") == "sig"
        and key.get("alg", header.alg) == header.alg
        and key.get("kty") == _kind(header.alg)
        and (header.kid is None or key.get("kid") == header.kid)
    ]
    return fitting[0] if len(fitting) == 1 else None


def check_token(token: str, header: Header, key: Key, expected: Expected) -> Claims:
    """Verify a token and return its claims. Raises UserError `invalid_id_token`."""
    import jwt
    from jwt.exceptions import InvalidSubjectError

    if len(str(key.get("n", ""))) > _LONGEST_MODULUS:
        raise refuse_token("key", "its key is too large")
    try:
        made = jwt.PyJWK({name: key[name] for name in _PUBLIC if name in key}, header.alg)
        claims: Claims = jwt.decode(
            token,
            made,
            algorithms=[header.alg],
            audience=expected.client_id,
            issuer=expected.issuer,
            leeway=LEEWAY_S,
            options={
                "require": ["iss", "aud", "exp", "iat", "sub", "nonce"],
                "enforce_minimum_key_length": True,
            },
        )
    except jwt.InvalidAudienceError as error:
        raise refuse_token("audience", "its token is for another client") from error
    except jwt.InvalidIssuerError as error:
        raise refuse_token("issuer", "its token is from another issuer") from error
    except jwt.ExpiredSignatureError as error:
        raise refuse_token("expired", "its token has expired") from error
    except (jwt.ImmatureSignatureError, jwt.InvalidIssuedAtError) as error:
        raise refuse_token("not_yet_valid", "its token is not yet valid; check the clocks") from error
    except jwt.MissingRequiredClaimError as error:
        raise refuse_token(error.claim, f"its token lacks the claim {error.claim!r}") from error
    except InvalidSubjectError as error:
        raise refuse_token("sub", "its token names no subject") from error
    except jwt.InvalidSignatureError as error:
        raise refuse_token("signature", "its token's signature is wrong") from error
    except (jwt.PyJWTError, ValueError, TypeError) as error:
        raise refuse_token("malformed", "its token is malformed") from error
    _check_claims(claims, expected)
    return claims


def check_freshness(claims: Claims, since_ms: int) -> None:
    """Raise UserError `not_confirmed` unless the person authenticated after this time."""
    at = auth_time_ms(claims)
    if at is None or at + LEEWAY_S * 1000 < since_ms:
        raise UserError(
            "not_confirmed",
            "The sign-in provider did not ask for your credentials again. Sign out there and try again, or confirm "
            "with a password.",
            {"reason": "auth_time"},
        )


def auth_time_ms(claims: Claims) -> int | None:
    """Return when the person authenticated at the provider, if known; never later than now."""
    at = claims.get("auth_time")
    if isinstance(at, bool) or not isinstance(at, int | float) or not 0 < at < 1e11:
        return None
    return min(int(at * 1000), time.time_ns() // 1_000_000)


def _check_claims(claims: Claims, expected: Expected) -> None:
    nonce, subject, party = claims.get("nonce"), claims.get("sub"), claims.get("azp")
    if not isinstance(nonce, str) or not _same(nonce, expected.nonce):
        raise refuse_token("nonce", "its token belongs to another sign-in")
    if not isinstance(subject, str) or not 0 < len(subject) <= _LONGEST or not _is_plain(subject):
        raise refuse_token("sub", "its token names no subject")
    several = isinstance(claims["aud"], list) and len(cast("list[Json]", claims["aud"])) > 1
    if (several or party is not None) and party != expected.client_id:
        raise refuse_token("azp", "its token was issued for another client")
    for name, value in expected.claims.items():
        if claims.get(name) != value:
            raise refuse_token("claim", f"its token lacks the required {name!r}")


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode())


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _kind(algorithm: str) -> str:
    match algorithm[:2]:
        case "RS" | "PS":
            return "RSA"
        case "ES":
            return "EC"
        case _:
            return "OKP"
