"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

DataOption = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="The data folder.", show_default="~/.agio"),
]
AppOption = Annotated[
    str | None,
    typer.Option(
        "--app",
        metavar="MODULE",
        help="A Python module, or file.py, with agents and tools.",
        show_default=False,
    ),
]
ServerOption = Annotated[
    str | None,
    typer.Option(
        "--server", metavar="URL", help="Use a running server, with AGIO_API_KEY.", show_default=False
    ),
]
HostOption = Annotated[str, typer.Option("--host", metavar="ADDRESS", help="The address to listen on.")]
PortOption = Annotated[
    int, typer.Option("--port", min=0, max=65_535, help="The port to listen on; 0 picks a free one.")
]
TlsOption = Annotated[
    bool,
    typer.Option("--behind-tls", help="A proxy in front terminates TLS: allow a public address."),
]
PublicUrlOption = Annotated[
    str | None,
    typer.Option(
        "--public-url",
        metavar="URL",
        help="The server's public address, such as https://agio.example.com.",
        show_default="AGIO_PUBLIC_URL",
    ),
]
ParentOption = Annotated[bool, typer.Option("--until-stdin-ends", hidden=True)]
