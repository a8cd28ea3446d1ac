"""The gateway's ASGI application: each request goes to its door (doors/table.py) or its REST route (routes/rest.py)."""

from agio.errors import AgioError, UserError
from agio.gateway.doors.table import Doorway, OpenDoor
from agio.gateway.gateway import Gateway
from agio.gateway.http.access import Access
from agio.gateway.http.address import network_of
from agio.gateway.http.asgi import Application, Receive, Scope, Send
from agio.gateway.http.errors import refuse, wrapped
from agio.gateway.http.in_flight import IN_FLIGHT, InFlight
from agio.gateway.http.security_headers import SecurityHeaders
from agio.gateway.routes.rest import make_rest, not_allowed, not_found


def create_app(gateway: Gateway) -> "App":
    """Create the application that serves one gateway."""
    return App(gateway)


class App:
    """Sends each request to its door or to FastAPI. Only the access log wraps a door."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._security_headers = SecurityHeaders(secure=gateway.auth.origins.secure)
        self._rest = make_rest()
        self._doors = Doorway(gateway)
        self.in_flight = InFlight(gateway.limits.in_flight_bytes_per_credential)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, a WebSocket, or the server's own start and stop."""
        if scope["type"] == "lifespan":
            await self._rest(scope, receive, send)
            return
        address = self._gateway.addresses.client_of(scope)
        access = Access(scope, send, address, self._security_headers)
        scope[IN_FLIGHT] = held = self.in_flight.hold(network_of(address))
        door = self._doors.find(scope["path"])
        try:
            await self._serve(door, scope, receive, access.send)
        finally:
            held.set_received(0)
            access.finish(getattr(scope.get("route"), "path", None) if door is None else door.pattern)

    async def _serve(self, door: OpenDoor | None, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if door is None or not door.any_host:
                await self._gateway.auth.check_host(scope)
            app = self._app_of(door, scope)
        except AgioError as error:
            await refuse(scope, send, wrapped(error))
            return
        if app is self._rest:
            scope["gateway"] = self._gateway
        await app(scope, receive, send)

    def _app_of(self, found: OpenDoor | None, scope: Scope) -> Application:
        """Return the application. Raises UserError `not_found`, `method_not_allowed`, `upgrade_required`."""
        path: str = scope["path"]
        given = "WEBSOCKET" if scope["type"] == "websocket" else scope["method"]
        if found is None:
            if (
                given == "WEBSOCKET" or "\0" in path or path.endswith("\n")
            ):  # route patterns would accept these
                raise not_found(path)
            return self._rest
        if found.method == given:
            return found.app
        if found.method == "WEBSOCKET" and given == "GET":
            raise UserError("upgrade_required", f"{path} is a WebSocket. Send an upgrade request.")
        raise not_allowed("GET" if found.method == "WEBSOCKET" else found.method)
