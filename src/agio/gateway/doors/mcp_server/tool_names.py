"""The tool names of agents: letters, digits, `_` and `-`, which every MCP client and model accepts."""

import re
import unicodedata
from collections.abc import Iterable

_NAME_CHARS = 48
"""Some clients put the server's name before it and allow 64 characters in all."""
_ID_CHARS = 6
_other = re.compile(r"[^A-Za-z0-9_-]+").sub


def tool_names(agents: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the agents' ids by tool name, for ids and names that come oldest first.

    Of agents whose names become the same, the oldest has the plain one, and the others the end of their id behind it.
    So a new agent changes no other's tool.
    """
    tools: dict[str, str] = {}
    for agent_id, name in agents:
        tool = _plain(name)
        tools[tool if tool not in tools else f"{tool}-{agent_id[-_ID_CHARS:]}"] = agent_id
    return tools


def _plain(name: str) -> str:
    ascii_name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return _other("_", ascii_name)[:_NAME_CHARS].strip("_-") or "agent"
