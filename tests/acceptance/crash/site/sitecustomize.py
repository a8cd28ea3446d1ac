"""Breaks a server from inside, as the environment says: dies at a named point, or leaves out a protection.

Python imports this file by itself when its folder is on PYTHONPATH; without the variables it does nothing.
"""

import os


def install() -> None:
    """Patch what the environment names."""
    if "AGIO_TEST_FAULT" in os.environ or "AGIO_TEST_SABOTAGE" in os.environ:
        import crash_points

        crash_points.install()
    if "AGIO_TEST_JOBS" in os.environ:
        import crash_points

        crash_points.add_tally()


install()
