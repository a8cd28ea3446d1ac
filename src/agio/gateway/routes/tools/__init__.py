"""Tools: what there is, the team's own HTTP tools, and calls outside a run."""
