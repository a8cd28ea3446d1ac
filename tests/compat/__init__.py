"""Programs that try agio with real services: `make compat`, `make live`."""
