"""The version of the installed package."""

from importlib.metadata import version


def print_version() -> None:
    """Print the name and the version."""
    print(f"agio {version('agio')}")
