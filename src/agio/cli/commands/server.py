"""The options of `serve`, `gateway`, `worker`, `cluster` and `migrate`. Each command imports its work when it runs."""

from typing import Annotated

import typer

from agio.cli.commands.options import (
    AppOption,
    DataOption,
    HostOption,
    ParentOption,
    PortOption,
    PublicUrlOption,
    TlsOption,
)
from agio.settings import load_server_settings, load_settings


def add_server_commands(app: typer.Typer) -> None:
    """Add `serve`, `gateway`, `worker`, `cluster` and `migrate`."""
    for command in (serve, gateway, worker, cluster, migrate):
        app.command()(command)


def serve(
    port: PortOption = 8700,
    host: HostOption = "127.0.0.1",
    data: DataOption = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", min=1, metavar="N", help="Run agents in N processes.", show_default="in this process"
        ),
    ] = None,
    app: AppOption = None,
    reload: Annotated[bool, typer.Option("--reload", help="Restart when Python files here change.")] = False,
    behind_tls: TlsOption = False,
    public_url: PublicUrlOption = None,
    until_stdin_ends: ParentOption = False,
) -> None:
    """Serve agents: everything in one process, or with worker processes."""
    if reload:
        from agio.server.reload import serve_and_reload

        raise typer.Exit(serve_and_reload(app))
    if until_stdin_ends:
        from agio.server.parent import end_with_parent

        end_with_parent()
    from agio.server.serving import ServeOptions, serve

    options = ServeOptions(
        host=host,
        port=port,
        data=data,
        workers=workers,
        app=app,
        behind_tls=behind_tls,
        public_url=public_url,
    )
    raise typer.Exit(serve(options, load_settings(), load_server_settings()))


def gateway(
    port: PortOption = 8700,
    host: HostOption = "127.0.0.1",
    data: DataOption = None,
    behind_tls: TlsOption = False,
    public_url: PublicUrlOption = None,
    until_stdin_ends: ParentOption = False,
) -> None:
    """Serve without running agents: workers connect over the network, with AGIO_WORKER_KEY."""
    if until_stdin_ends:
        from agio.server.parent import end_with_parent

        end_with_parent()
    from agio.errors import UserError
    from agio.server.serving import ServeOptions, serve

    settings = load_server_settings()
    if settings.worker_key is None:
        raise UserError("missing_setting", "Set AGIO_WORKER_KEY: workers authenticate with it.")
    options = ServeOptions(
        host=host,
        port=port,
        data=data,
        workers=0,
        app=None,
        behind_tls=behind_tls,
        public_url=public_url,
    )
    raise typer.Exit(serve(options, load_settings(), settings))


def worker(
    app: AppOption = None,
    room: Annotated[
        int | None,
        typer.Option("--room", min=1, metavar="N", help="How many runs at once.", show_default="50"),
    ] = None,
    health_port: Annotated[
        int | None,
        typer.Option(
            "--health-port",
            min=0,
            max=65_535,
            metavar="PORT",
            help="Answer health checks on this port of 127.0.0.1.",
            show_default="none",
        ),
    ] = None,
    until_stdin_ends: ParentOption = False,
) -> None:
    """Run agents for the gateway at AGIO_GATEWAY_URL, authenticated with AGIO_WORKER_KEY."""
    from agio.cli.commands.worker import work

    settings = load_server_settings()
    raise typer.Exit(
        work(
            app,
            room,
            load_settings(),
            settings,
            health_port=health_port,
            until_stdin_ends=until_stdin_ends,
        )
    )


def cluster(
    port: PortOption = 8700,
    host: HostOption = "127.0.0.1",
    data: DataOption = None,
    gateways: Annotated[int, typer.Option("--gateways", min=1, metavar="N", help="How many gateways.")] = 2,
    workers: Annotated[int, typer.Option("--workers", min=1, metavar="N", help="How many workers.")] = 2,
    app: AppOption = None,
) -> None:
    """Try a cluster on this machine: gateways, workers and a proxy over PostgreSQL and NATS."""
    from agio.server.cluster import ClusterOptions, run_cluster

    folder = data or load_settings().data_dir / "cluster"
    options = ClusterOptions(host=host, port=port, data=folder, gateways=gateways, workers=workers, app=app)
    raise typer.Exit(run_cluster(options, load_server_settings()))


def migrate(
    data: DataOption = None,
    down: Annotated[
        int | None,
        typer.Option(
            "--down",
            min=0,
            metavar="TO",
            help="Downgrade to this schema version. Data it has no tables for is deleted.",
            show_default=False,
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before data is deleted.")] = False,
) -> None:
    """Migrate the store to this program's schema version, or down to an earlier one."""
    import asyncio

    if down is not None and not yes:
        typer.confirm(
            f"Downgrading to schema version {down} deletes all data that version has no tables for (version 0: "
            "everything). Make a backup first. Continue?",
            abort=True,
        )

    from agio.cli.operate.migrate import migrate_store

    asyncio.run(migrate_store(data, down, load_settings(), load_server_settings()))
