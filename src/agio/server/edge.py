"""EdgeConfig: carries the limits of connections to uvicorn's protocols."""

from collections.abc import Mapping
from typing import Any

import uvicorn


class EdgeConfig(uvicorn.Config):
    """uvicorn's configuration with our limits. `message_bytes` has the WebSocket paths with a limit of their own."""

    def __init__(
        self, app: Any, *, max_connections: int, message_bytes: Mapping[str, int], **usual: Any
    ) -> None:
        super().__init__(app, **usual)
        self.max_connections = max_connections
        self.message_bytes = message_bytes
