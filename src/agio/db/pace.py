"""How often appends are committed: each commit takes the frames that have arrived since the last one."""

PACE_S = 0.001
"""The interval between two commits that hold only frames, per running run."""
MAX_PACE_S = 0.05
URGENT = 0.2
"""The share of the interval that an append may wait if a person or a tool waits for it."""


def pace_s(running: int, share: float = 1.0) -> float:
    """Return the interval to the next commit that holds only frames, or a share of it. A single run never waits."""
    return min(MAX_PACE_S, PACE_S * running) * share if running > 1 else 0.0
