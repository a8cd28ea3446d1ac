"""The engine: an agent run from its first model call to its end. Only workers and the library use it."""
