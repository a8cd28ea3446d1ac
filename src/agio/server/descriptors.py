"""How many files and sockets this process may have open."""

import sys

_USUAL = 65_536
"""Where the system names no limit: macOS refuses one that is endless."""


def raise_descriptor_limit() -> int:
    """Raise the soft limit of open files to the hard one; return how many may be open."""
    if sys.platform == "win32":
        return _USUAL
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return _USUAL
    most = max(soft, _USUAL) if hard == resource.RLIM_INFINITY else hard
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    except (OSError, ValueError):
        return soft
    return most
