"""How many examples a test makes: a few, always the same, in the suite; many with `make fuzz`."""

import os


def examples(count: int) -> int:
    """Return how many examples a test makes: so many, or AGIO_FUZZ times as many."""
    return count * int(os.environ.get("AGIO_FUZZ", "1"))
