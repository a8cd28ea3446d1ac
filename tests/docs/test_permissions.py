"""The page of permissions says what the lists of routes say."""

from agio.gateway.doors.table import DOORS
from agio.gateway.routes.table import ROUTES
from tests.docs.permissions import NOTES, PAGE, PERSON, WORKERS, render


def test_the_page_of_permissions_is_current() -> None:
    """R2: the table of routes and roles is made from the lists (python -m tests.docs.permissions --write)."""
    assert PAGE.read_text("utf-8") == render()


def test_what_the_page_adds_is_about_routes_there_are() -> None:
    """R2: notes name routes, and worker keys open doors that are there."""
    assert {*NOTES, *PERSON} <= {route.name for route in ROUTES}
    assert set(WORKERS) <= {door.path for door in DOORS}
