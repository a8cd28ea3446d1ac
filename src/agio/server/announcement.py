"""What a server prints when it is ready: where it is, how to sign in, what it found, how it ends."""

import sys
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from agio.gateway.auth.authenticator import SignInLink

_HIDDEN = "https://YOUR-NAME"
"""A placeholder for the unknown address of the proxy in front."""


class Announcement(Struct, frozen=True, kw_only=True):
    """A server that has begun. `workers` None is a worker in its own process, 0 none at all."""

    url: str
    sign_in: SignInLink | None
    """None: there is an account to sign in with."""
    database: str | Path
    workers: int | None
    models: list[str]
    behind_tls: bool
    public_url: str | None = None

    def print(self) -> None:
        """Print it on standard output, for people, and for programs that wait for the first line."""
        base = self.public_url or (_HIDDEN if self.behind_tls else self.url)
        lines = {
            **({"sign in": f"{base}/"} if self.sign_in is None else {"sign in once": self.sign_in.url(base)}),
            "data": place_of(self.database),
            "workers": _workers(self.workers),
            "models": _models(self.models),
            "stop": "Ctrl-C, or SIGTERM: running turns finish, or continue at the next start",
        }
        print(f"agio is ready on {self.url}")
        for name, text in lines.items():
            print(f"  {name + ':':<14}{text}")
        sys.stdout.flush()


def place_of(database: str | Path) -> str:
    """Return where a database is, without the password in its URL."""
    if isinstance(database, Path):
        return str(database)
    parts = urlsplit(database)
    return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"


def _workers(count: int | None) -> str:
    if count is None:
        return "one, in this process"
    return "processes: " + str(count) if count else "those that connect with AGIO_WORKER_KEY: agio worker"


def _models(found: list[str]) -> str:
    if not found:
        return "demo only; to add more set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY"
    return ", ".join([*found, "demo"])
