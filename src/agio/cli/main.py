"""`agio`: the entry point of the command line. Expected errors are printed as one line."""

import io
import os
import sys

from agio.errors import AgioError


def main() -> None:
    """Run the command line and exit with its code."""
    if sys.argv[1:] == ["--version"]:
        from agio.cli.version import print_version

        return print_version()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    sys.exit(_run())


def _run() -> int:
    from agio.cli.commands.app import app
    from agio.core.store.audit import ACTOR, OPERATOR

    ACTOR.set(OPERATOR)
    try:
        app()
    except AgioError as error:
        from agio.cli.terminal.output import error_line

        error_line(error)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Otherwise the interpreter's flush at exit would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0


if __name__ == "__main__":
    main()
