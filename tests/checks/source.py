"""What the source of agio must not do, found by reading it: `python -m tests.checks.source`.

Raw SQL belongs in db/sql, requests to addresses somebody else chose go through the guard, nothing is evaluated
or unpickled, no shell is started, no certificate goes unchecked.
"""

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "agio"

_SQL = re.compile(
    r"\s*(select\s.+\sfrom|insert\s+into|update\s+\w+\s+set|delete\s+from|(create|drop|alter)\s+(table|index))\s",
    re.IGNORECASE | re.DOTALL,
)
_CALLS = {
    "eval": "evaluates text",
    "exec": "executes text",
    "compile": "compiles text",
    "__import__": "imports by text",
    "os.system": "starts a shell",
    "os.popen": "starts a shell",
    "yaml.load": "builds objects from text",
    "tempfile.mktemp": "makes a name somebody else may take",
    "hashlib.md5": "is a broken hash",
    "hashlib.sha1": "is a broken hash",
    "ssl._create_unverified_context": "checks no certificate",
}
_MODULES = {
    "pickle": "unpickling runs code",
    "marshal": "unmarshalling runs code",
    "shelve": "unpickling runs code",
    "dill": "unpickling runs code",
    "cloudpickle": "unpickling runs code",
    "telnetlib": "is no HTTP client of ours",
    "ftplib": "is no HTTP client of ours",
    "requests": "is an HTTP client outside the guard",
    "aiohttp": "is an HTTP client outside the guard",
    "urllib3": "is an HTTP client outside the guard",
    "urllib.request": "is an HTTP client outside the guard",
    "http.client": "is an HTTP client outside the guard",
    "httpx": "is an HTTP client outside the guard",
    "httpcore": "is an HTTP client outside the guard",
    "httpx2": "is an HTTP client outside the guard",
    "websockets.asyncio.client": "is a client outside the guard",
    "websockets.sync.client": "is a client outside the guard",
}
ALLOWED: Mapping[str, Mapping[str, str]] = {
    "egress": {"httpx": "it is the guard", "httpcore": "it is the guard"},
    "tools/mcp": {"httpx2": "the MCP package's, over the guard's connections"},
    "worker/heartbeat.py": {"http.client": "to the gateway the operator named"},
    "worker/link_socket.py": {"websockets.asyncio.client": "to the gateway the operator named"},
    "cli/client/server_client.py": {"http.client": "to the server the person at the command line named"},
    "cli/chat/remote_run.py": {
        "websockets.asyncio.client": "to the server the person at the command line named"
    },
    "testing/connection.py": {"http.client": "the names of statuses"},
}
"""Where something is right after all, and why."""


def faults(path: str, text: str) -> Iterator[str]:
    """Say what is wrong with a file of the source, `path` being its path within agio."""
    nothing: Mapping[str, str] = {}
    allowed = next((why for place, why in ALLOWED.items() if path.startswith(place)), nothing)
    for node in ast.walk(ast.parse(text, path)):
        for name, reason in _found(node):
            if name not in allowed:
                yield f"{path}:{getattr(node, 'lineno', 0)}: {name} {reason}"


def _found(node: ast.AST) -> Iterator[tuple[str, str]]:
    match node:
        case ast.Import(names=names):
            yield from _modules(alias.name for alias in names)
        case ast.ImportFrom(module=str(module), names=names):
            yield from _modules([module, *(f"{module}.{alias.name}" for alias in names)])
        case ast.Call(func=function, keywords=keywords):
            name = ast.unparse(function)
            if name in _CALLS:
                yield name, _CALLS[name]
            for keyword in keywords:
                if keyword.arg == "shell" and ast.unparse(keyword.value) != "False":
                    yield "shell=True", "starts a shell"
                if keyword.arg in ("verify", "verify_signature") and ast.unparse(keyword.value) == "False":
                    yield f"{keyword.arg}=False", "believes what it does not check"
        case ast.Attribute(attr="CERT_NONE"):
            yield "CERT_NONE", "checks no certificate"
        case ast.Constant(value=str(text)) if _SQL.match(text):
            yield "raw SQL", "belongs in db/sql"
        case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]) if _SQL.match(f"{text} "):
            yield "raw SQL", "belongs in db/sql"
        case _:
            pass


def _modules(names: Iterator[str] | list[str]) -> Iterator[tuple[str, str]]:
    for name in names:
        for module, reason in _MODULES.items():
            if name == module or name.startswith(f"{module}."):
                yield module, reason


def main() -> int:
    """Print what is wrong; return 1 if anything is."""
    found = [
        fault
        for file in sorted(SOURCE.rglob("*.py"))
        for fault in faults(file.relative_to(SOURCE).as_posix(), file.read_text())
    ]
    for fault in dict.fromkeys(found):
        print(fault)
    print(f"source: {len(found)} faults" if found else "source: nothing forbidden")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
