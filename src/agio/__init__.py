"""agio: agents whose every run is a durable log of events."""
