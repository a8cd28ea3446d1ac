"""EdgeConfig: the limits of a server's connections, where uvicorn's protocols find them."""

from collections.abc import Mapping
from typing import Any

import uvicorn


class EdgeConfig(uvicorn.Config):
    """uvicorn's configuration with our limits. `message_bytes` are the WebSocket paths whose limit is not the usual."""

    def __init__(
        self, app: Any, *, max_connections: int, message_bytes: Mapping[str, int], **usual: Any
    ) -> None:
        super().__init__(app, **usual)
        self.max_connections = max_connections
        self.message_bytes = message_bytes
