"""What the routes about people and teams take."""

from typing import Annotated, Self, TypeAlias

from pydantic import ConfigDict, Field, model_validator

from agio.core.identity.principal import MAX_KEY_DAYS, Permission, Role
from agio.core.identity.team import SdkSessions
from agio.gateway.auth.passwords import MAX_CHARS
from agio.gateway.routes.bodies import AS_WHOLE, MAX_RETENTION_DAYS, Body, Identifier, Name, any_given

MAX_INVITATION_DAYS = 30
INVITATION_DAYS = 7

Email: TypeAlias = Annotated[str, Field(min_length=3, max_length=254)]
Password: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_CHARS)]
Token: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]


class SignInBody(Body):
    """Who somebody is, and the proof."""

    email: Email
    password: Password


class AccountBody(Body):
    """A new account. The password must have at least 12 characters."""

    email: Email
    name: Name
    password: Password


class AccountChange(Body):
    """What to change of an account."""

    model_config = ConfigDict(json_schema_extra=any_given(email="string", name="string"))

    email: Email | None = None
    name: Name | None = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.email is None and self.name is None:
            raise ValueError("give an email or a name")
        return self


class PasswordBody(Body):
    """A password."""

    password: Password


class KeyBody(Body):
    """A new API key. Without permissions it may do all that its maker may; without an end it has none."""

    name: Name
    permissions: Annotated[list[Permission], Field(min_length=1, max_length=4)] | None = None
    expires_in_days: Annotated[int, Field(ge=1, le=MAX_KEY_DAYS), AS_WHOLE] | None = None


class TenantBody(Body):
    """A new team."""

    name: Name


class TenantChange(Body):
    """What to change of a team."""

    model_config = ConfigDict(
        json_schema_extra={
            "minProperties": 1,
            "allOf": [{"properties": {"name": {"type": "string"}, "sdk_sessions": {"type": "string"}}}],
        }
    )

    name: Name | None = None
    retention_days: Annotated[int, Field(ge=1, le=MAX_RETENTION_DAYS), AS_WHOLE] | None = None
    """After how many days without a change a session is deleted; null: never."""
    sdk_sessions: SdkSessions | None = None
    """The permission that describing an agent at /api/sdk needs."""

    @model_validator(mode="after")
    def _something(self) -> Self:
        given = self.model_fields_set
        if not given or any(
            name in given and getattr(self, name) is None for name in ("name", "sdk_sessions")
        ):
            raise ValueError("give a name, retention_days or sdk_sessions")
        return self


class SwitchBody(Body):
    """The team to go on in."""

    tenant: Identifier


class MemberChange(Body):
    """What a member may do from now on."""

    role: Role


class InvitationBody(Body):
    """An invitation: for whoever has this e-mail address, or without one for whoever has the link."""

    email: Email | None = None
    role: Role = "member"
    expires_in_days: Annotated[int, Field(ge=1, le=MAX_INVITATION_DAYS), AS_WHOLE] = INVITATION_DAYS


class AcceptBody(Body):
    """An invitation's token; somebody who is not signed in also gives what an account needs."""

    token: Token
    name: Name | None = None
    email: Email | None = None
    password: Password | None = None
