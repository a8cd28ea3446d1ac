"""What a server says while it runs: lines on standard error."""

import logging
import sys


def set_up_logging() -> None:
    """Write agio's own notes, and warnings of what it is built on, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("agio").setLevel(logging.INFO)
    # A WebSocket that was refused: its client was told, and anybody could fill the log with it.
    logging.getLogger("uvicorn.error").addFilter(
        lambda record: "completing handshake" not in record.getMessage()
    )
