"""Plain ASGI endpoints that carry messages and streams: WebSocket, SSE, AG-UI, the worker link."""
