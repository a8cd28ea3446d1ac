"""docs/permissions.md: who may call which route, as the lists in the gateway say it.

python -m tests.docs.permissions --write
"""

import sys
from collections.abc import Iterable, Sequence

from agio.core.identity.principal import PERMISSIONS, Permission, Role
from agio.gateway.doors.table import DOORS
from agio.gateway.http.route import FRESH_S, Access, Route
from agio.gateway.routes.table import ROUTES
from tests.support.access import PERSON, WORKERS
from tests.support.pages import ROOT

PAGE = ROOT / "docs" / "permissions.md"
ROLES: tuple[Role, ...] = ("owner", "admin", "member")
MEANING: dict[Permission, str] = {
    "use": "talk to agents; one's own sessions, files, drafts, profile, keys and account",
    "build": "agents, tools, providers",
    "manage": "members, invitations, the team's settings, everybody's keys",
    "own": "owners, sign-in links for members, the audit log, background jobs, new teams",
}
NOTES = {
    "create_tenant": "in the team `default` only, the operator's",
    "list_runs": "`?user=all` or another's id: needs `manage`",
    "get_run": "one's own; others' of the team with `manage`",
    "run_events": "one's own; others' of the team with `manage`",
    "list_run_tools": "one's own; others' of the team with `manage`",
    "list_keys": "`?all=true`, everybody's: needs `manage`",
    "revoke_key": "one's own; others' with `manage`, an owner's with `own`",
    "create_key": "with no more permissions than one has",
    "change_member": "owners are made and changed by owners",
    "remove_member": "owners are removed by owners",
    "create_sign_in_link": "not for owners, nor for who is in other teams too",
    "create_invitation": "owners are invited by owners",
    "create_sdk_session": "a new one needs `build`, unless the team's `sdk_sessions` is `use`",
    "send_sdk_message": "with `agent` it needs `build`, unless the team's `sdk_sessions` is `use`",
    "execute_tool": "`approved` needs one's own session whose agent has the tool, or `build`",
}

_FRESH = f"""\
a person with an account must have proved who they are within the last {FRESH_S // 60} minutes
(`reauthentication_required` otherwise). API keys are not asked.
"""
INTRODUCTION = """\
# Endpoints and permissions

Every endpoint and who may call it, made from the lists in `src/agio/gateway`, `routes/table.py` and `doors.py`,
and checked by the tests, route by route, role by role, and with an API key for each permission. Without a credential
the answer is 401 `unauthenticated`, without the permission 403 `forbidden`, before anything of the request's body is
read. What belongs to another team is 404 for every role; so is what belongs to another user, for sessions, runs,
files, drafts, profiles and tool calls.

A role has permissions. An API key has those of its user, or fewer, as its maker said; never more, also when the
user's role changes later.
"""


def render() -> str:
    """Write the page."""
    parts = [INTRODUCTION, _roles(), _team_routes(), _streams()]
    others: list[tuple[Access, str, str]] = [
        (
            "public",
            "Routes without a credential",
            "They check what they are given: a password, a token, a state.",
        ),
        (
            "local",
            "Routes of this machine",
            "Without a credential from loopback only; with one from anywhere.",
        ),
    ]
    parts += [f"## {heading}\n\n{words}\n\n{_plain(access)}" for access, heading, words in others]
    return "\n".join(parts)


def _roles() -> str:
    rows = [
        [f"`{permission}`", MEANING[permission], *(_mark(permission in PERMISSIONS[role]) for role in ROLES)]
        for permission in MEANING
    ]
    return "## Roles\n\n" + _table(["permission", "for", *ROLES], rows)


def _team_routes() -> str:
    rows: list[list[str]] = []
    for route in ROUTES:
        if route.access != "user":
            continue
        may = [_mark(route.needs in PERMISSIONS[role]) for role in ROLES]
        notes = ["a person, no API key"] if route.name in PERSON else []
        notes += [NOTES[route.name]] if route.name in NOTES else []
        what = "; ".join([_words(route), *notes])
        rows.append([f"`{route.method} {route.path}`", what, f"`{route.needs}`", *may, _mark(route.fresh)])
    words = f"**fresh**: {_FRESH}"
    return f"## Routes\n\n{words}\n" + _table(["route", "what it does", "needs", *ROLES, "fresh"], rows)


def _streams() -> str:
    known = {(route.method, route.path) for route in ROUTES}
    rows = [
        [
            f"`{door.method} {door.path}`",
            *(["a worker key", "", "", ""] if door.path in WORKERS else ["`use`", *[_mark(True)] * 3]),
        ]
        for door in DOORS
        if (door.method, door.path) not in known
    ]
    return "## Streams and sockets\n\n" + _table(["door", "needs", *ROLES], rows)


def _plain(access: Access) -> str:
    rows = [[f"`{route.method} {route.path}`", _words(route)] for route in ROUTES if route.access == access]
    return _table(["route", "what it does"], rows)


def _words(route: Route) -> str:
    """Return what a route does: the first sentence of its endpoint."""
    lines = (route.endpoint.__doc__ or "").strip().partition("\n\n")[0].split()
    return " ".join(lines).partition(". ")[0].removesuffix(".").replace("|", "\\|")


def _mark(good: bool) -> str:
    return "yes" if good else ""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def main() -> None:
    """Say whether the page is current, or write it."""
    if "--write" in sys.argv:
        PAGE.write_text(render(), "utf-8")
    elif render() != PAGE.read_text("utf-8"):
        sys.exit("docs/permissions.md is not current: run python -m tests.docs.permissions --write")


if __name__ == "__main__":
    main()
