"""The engine executes an agent run, from the first model call to the end. Workers and the library use it."""
