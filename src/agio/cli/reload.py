"""`agio serve --reload`: begins the server again whenever a Python file changes. For developing, not for serving."""

import shlex
import sys
from pathlib import Path

import agio
from agio.errors import UserError

_SOON_S = 3
"""How long a server that is replaced may take to end: what it was doing goes on in the next one."""


def serve_and_reload(app: str | None) -> int:
    """Run this same command without `--reload`, again and again; return the exit code. Raises UserError."""
    try:
        from watchfiles import PythonFilter, run_process
    except ImportError as error:
        raise UserError(
            "missing_package", "--reload needs the package watchfiles: pip install watchfiles"
        ) from error
    arguments = [argument for argument in sys.argv[1:] if argument != "--reload"]
    command = shlex.join([sys.executable, "-m", "agio.cli.main", *arguments])
    run_process(
        *_watched(app),
        target=command,
        target_type="command",
        watch_filter=PythonFilter(),
        sigint_timeout=_SOON_S,
    )
    return 0


def _watched(app: str | None) -> list[Path]:
    """The folder we are in, the folder of the app's file, and agio itself."""
    folders = [Path.cwd(), Path(agio.__file__).parent]
    if app is not None and (file := Path(app.partition(":")[0])).suffix == ".py":
        folders.append(file.resolve().parent)
    return folders
