"""Which authorization servers people of this server have: the metadata of the protected resource `/mcp` (RFC 9728)."""

from fastapi.responses import Response
from msgspec import UNSET, Struct, UnsetType

from agio.gateway.http.route import Call, answer

METADATA_PATH = "/.well-known/oauth-protected-resource/mcp"


class ProtectedResource(Struct, frozen=True, kw_only=True):
    """The metadata of a protected resource."""

    resource: str
    resource_name: str = "agio"
    authorization_servers: list[str] | UnsetType = UNSET
    """The issuers of the OpenID providers people sign in with; without a provider it is left out."""
    bearer_methods_supported: tuple[str, ...] = ("header",)


async def protected_resource(call: Call) -> Response:
    """Get the metadata of `/mcp`."""
    origins, issuers = call.gateway.auth.origins, call.gateway.oidc.issuers()
    return answer(
        ProtectedResource(
            resource=f"{origins.base_url(call.scope['headers'])}/mcp", authorization_servers=issuers or UNSET
        )
    )


async def protected_resource_of_server(call: Call) -> Response:
    """Get the metadata of `/mcp`, where clients look for that of the whole server."""
    return await protected_resource(call)
