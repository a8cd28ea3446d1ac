"""Documents measured: how fast each format is read, with how much memory."""
