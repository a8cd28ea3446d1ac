"""The address people reach a server at, kept beside its store for commands that print links."""

import os
from contextlib import suppress
from pathlib import Path

_NAME = "server.url"


def note_address(store: Path, url: str | None) -> None:
    """Keep the address of the server that has just started; None: its operator has not named one."""
    file = store.with_name(_NAME)
    with suppress(OSError):  # a full disk must not keep a server from starting
        file.unlink(missing_ok=True)
        if url is not None:
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w") as target:
                target.write(url)


def noted_address(store: Path) -> str | None:
    """Return the address that the server of a store has, or had last."""
    try:
        return store.with_name(_NAME).read_text() or None
    except OSError:
        return None
