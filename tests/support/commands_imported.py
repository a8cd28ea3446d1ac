"""Imports what the commands import, for the process that they are forked from."""

from importlib import import_module
from pkgutil import walk_packages

import agio.cli

for found in walk_packages(agio.cli.__path__, "agio.cli."):
    import_module(found.name)
for name in ("agio.library", "agio.db.repository", "agio.db.sqlite.database", "agio.drivers.demo", "apsw"):
    import_module(name)
