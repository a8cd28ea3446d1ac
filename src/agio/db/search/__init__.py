"""The text that a search compares, and the excerpts that it shows."""
