"""A cluster of real processes: Postgres, NATS, two gateways and workers."""

from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.acceptance.held_model import APP, HeldModel
from tests.support.nats import NatsServer
from tests.support.postgres import PostgresServer
from tests.support.process import Server

WORKER_KEY = "what-workers-show-to-be-let-in-0123456789"
SECRET_KEY = "00" * 32


class Cluster:
    """Two gateways on one database and bus, and workers that know both."""

    def __init__(self, folder: Path, database: str, nats: NatsServer, model: HeldModel) -> None:
        self.nats = nats
        self.model = model
        self._folder = folder
        self._stack = ExitStack()
        (folder / "held.py").write_text(APP)
        self.settings = {
            "AGIO_DATABASE_URL": database,
            "AGIO_NATS_URL": nats.url,
            "AGIO_WORKER_KEY": WORKER_KEY,
            "AGIO_SECRET_KEY": SECRET_KEY,
        }
        self.gateways: list[Server] = []

    def gateway(self, *, wait: bool = True, **settings: str) -> Server:
        """Start a gateway."""
        made = Server(
            self._folder,
            *("--port", "0"),
            command="gateway",
            environment={**self.settings, **settings},
            own_data=False,
            wait=wait,
        )
        self._stack.enter_context(made)
        self.gateways.append(made)
        return made

    def worker(self, *gateways: Server, **settings: str) -> Server:
        """Start a worker that knows these gateways, the first of them first."""
        made = Server(
            self._folder,
            *("--app", str(self._folder / "held.py")),
            command="worker",
            environment={
                "AGIO_WORKER_KEY": WORKER_KEY,
                "AGIO_GATEWAY_URL": ",".join(gateway.url for gateway in gateways),
                **self.model.environment,
                **settings,
            },
            wait=False,
        )
        return self._stack.enter_context(made)

    def close(self) -> None:
        """Kill what is left."""
        self._stack.close()


@pytest.fixture
def nats() -> Iterator[NatsServer]:
    with NatsServer() as server:
        yield server


@contextmanager
def opened(folder: Path, postgres: PostgresServer, nats: NatsServer) -> Generator[Cluster]:
    """Open a cluster without a process in it."""
    with HeldModel() as model:
        cluster = Cluster(folder, postgres.create_database(), nats, model)
        try:
            yield cluster
        finally:
            cluster.close()


@pytest.fixture
def cluster(tmp_path: Path, postgres: PostgresServer, nats: NatsServer) -> Iterator[Cluster]:
    with opened(tmp_path, postgres, nats) as made:
        yield made
