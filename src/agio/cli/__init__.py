"""One file a command; the composition root."""
