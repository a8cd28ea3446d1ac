"""Builds the pages into the wheel, with Node from its wheel, so that whoever installs agio has them."""

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PagesHook(BuildHookInterface):  # type: ignore[type-arg]
    """Runs before a wheel is made. An editable install leaves the pages to `make pages`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build what is not there yet."""
        root = Path(self.root)
        if version == "editable" or (root / "src/agio/gateway/pages/dist/index.html").exists():
            return
        for command in (["install", "--no-save", "--no-audit", "--no-fund"], ["run", "build"]):
            subprocess.run(["npm", *command], cwd=root / "web", check=True)  # noqa: S603, S607
