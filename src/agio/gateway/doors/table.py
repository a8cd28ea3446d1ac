"""DOORS: the hot endpoints, plain ASGI in front of the REST routes, and the lookup by path."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from agio.gateway.doors.ag_ui import run_agent
from agio.gateway.doors.link_socket import link_socket
from agio.gateway.doors.mcp_server.door import mcp_server
from agio.gateway.doors.message import message_door
from agio.gateway.doors.realtime import realtime
from agio.gateway.doors.sse import session_stream
from agio.gateway.gateway import Gateway
from agio.gateway.http.asgi import Application
from agio.gateway.routes.documents.documents import document_door
from agio.gateway.routes.sessions.files import file_door


@dataclass(frozen=True)
class Door:
    """A plain ASGI application and its path. `path` has at most one part in braces.

    `any_host`: workers may use any host name of this server. The door requires a worker's key.
    """

    method: Literal["GET", "POST", "WEBSOCKET"]
    path: str
    make: Callable[[Gateway], Application]
    any_host: bool = False


DOORS: Sequence[Door] = [
    Door("WEBSOCKET", "/realtime", realtime),
    Door("GET", "/api/agent-sessions/{session_id}/stream", session_stream),
    Door("POST", "/api/agents/{agent_id}/ag-ui", run_agent),
    Door("POST", "/api/agent-sessions/{session_id}/message", message_door),
    Door("POST", "/api/files", file_door),
    Door("POST", "/api/collections/{collection_id}/files", document_door),
    Door("POST", "/mcp", mcp_server),
    Door("WEBSOCKET", "/link", link_socket, any_host=True),
    Door("POST", "/link/heartbeat", link_socket, any_host=True),
]


class Doorway:
    """The doors of one gateway, found by path."""

    def __init__(self, gateway: Gateway) -> None:
        made = {make: make(gateway) for make in {door.make for door in DOORS}}
        opened = [OpenDoor(door, made[door.make]) for door in DOORS]
        self._fixed = {door.before: door for door in opened if not door.after}
        self._framed = [door for door in opened if door.after]

    def find(self, path: str) -> "OpenDoor | None":
        """Return the door for a path; the method is not considered."""
        found = self._fixed.get(path)
        if found is None:
            for door in self._framed:
                if door.fits(path):
                    return door
        return found


class OpenDoor:
    """A door of one gateway, with its path split at the part in braces."""

    def __init__(self, door: Door, app: Application) -> None:
        before, after = _frame(door.path)
        self.method = door.method
        self.any_host = door.any_host
        self.before = before
        self.after = after
        self.app = app
        self.pattern = f"{before}{{id}}{after}" if after else before

    def fits(self, path: str) -> bool:
        """Whether a path matches: both parts, with one name between them."""
        before, after = self.before, self.after
        end = len(path) - len(after)
        return path.startswith(before) and path.endswith(after) and path.find("/", len(before)) == end


def _frame(path: str) -> tuple[str, str]:
    before, _, rest = path.partition("{")
    return before, rest.partition("}")[2]
