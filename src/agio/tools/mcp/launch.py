"""Becomes a stdio server's command: sets its limits, and has it die with this server. Run as a script of its own.

Arguments: the limits as JSON, the parent's process id, the command and its arguments.
"""

import ctypes
import json
import os
import resource
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Replace this process by the command."""
    limits, parent, *command = sys.argv[1:]
    for name, most in json.loads(limits).items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != int(parent):  # it died before
            sys.exit(1)
    os.execvp(command[0], command)  # noqa: S606  # nosec B606


if __name__ == "__main__":
    main()
