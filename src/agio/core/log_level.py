"""Log levels: which features of the fold a log uses. A worker claims only runs of levels that it knows."""

PLAIN = 1
LANES = 2
"""The log has lanes of sub-agents."""
INPUTS = 3
"""The log has input that arrived during the run."""
HANDOFFS = 4
"""The log has handoffs."""
SUMMARIES = 5
"""The log has summaries of older parts of the conversation."""
KNOWN = SUMMARIES
"""The newest level that this program knows."""
