"""The names of MCP tools towards models: `{server}_{tool}`, in the characters and the length that vendors take."""

import hashlib
import re

_LONGEST = 64
_OTHER = re.compile(r"[^A-Za-z0-9_-]+")


def tool_names(server: str, tool: str) -> list[str]:
    """Return the names a tool may get, the best first; the last is unique."""
    plain = _plain(f"{server}_{tool}")
    digest = hashlib.sha256(f"{server}\n{tool}".encode()).hexdigest()
    longer = [f"{plain[: _LONGEST - 1 - count]}_{digest[:count]}" for count in (4, 16)]
    return [plain, *longer] if len(plain) <= _LONGEST else longer


def _plain(name: str) -> str:
    plain = _OTHER.sub("_", name).strip("_-")
    return plain if plain[:1].isalpha() else f"mcp_{plain}"
