"""Delivers committed events to readers: the hub, its slices, and the streams that are open."""
