"""Committed events on their way to readers: the hub, its slices, and the streams that are open."""
