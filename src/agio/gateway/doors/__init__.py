"""Plain ASGI endpoints that carry messages and streams: WebSocket, SSE, AG-UI, the link of workers."""
