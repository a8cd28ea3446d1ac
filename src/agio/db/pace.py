"""How often appends are committed: each commit takes the frames that have arrived since the last one."""

PACE_S = 0.001
"""The interval between two commits that hold only frames, per running run."""
MAX_PACE_S = 0.05


def pace_s(running: int) -> float:
    """Return the interval to the next commit that holds only frames. A single run never waits."""
    return min(MAX_PACE_S, PACE_S * running) if running > 1 else 0.0
