"""What a cluster is given wrongly is refused with a stable code, and what a worker holds is little."""

import os
import re
import subprocess
from pathlib import Path

import httpx

from tests.acceptance.cluster.conftest import WORKER_KEY, Cluster
from tests.support.command import AGIO, WAIT_S
from tests.support.nats import NatsServer
from tests.support.process import (
    Server,
    answer_of,
    await_events,
    frames,
    send,
    start_session,
    stream,
    text_of,
)

HEALTH = re.compile(r"health on (http://\S+)")


def refused(cluster: Cluster, **settings: str) -> str:
    """Start a gateway that must refuse to start; return what it says."""
    gateway = cluster.gateway(wait=False, **settings)
    assert gateway.wait() == 1
    assert "Traceback" not in gateway.errors
    return gateway.errors


def test_a_gateway_that_does_not_fit_the_others_says_why(cluster: Cluster) -> None:
    """S10: another master key, a name that is taken; the one that is there goes on."""
    first = cluster.gateway(AGIO_GATEWAY_NAME="one")
    other_key = refused(cluster, AGIO_SECRET_KEY="11" * 32, AGIO_GATEWAY_NAME="two")
    assert "[master_key_differs]" in other_key
    assert "11" * 8 not in other_key
    assert "[gateway_name_taken]" in refused(cluster, AGIO_GATEWAY_NAME="one")
    with first.client() as client:
        assert client.get("/api/agents").is_success
    first.process.kill()  # its name is free again when its lease has ended
    again = cluster.gateway(AGIO_GATEWAY_NAME="one")
    with again.client() as client:
        assert client.get("/api/agents").is_success


def test_a_bus_that_cannot_be_used_ends_the_start(cluster: Cluster, tmp_path: Path) -> None:
    """S10: nothing there, wrong credentials, a bus for a file's one gateway."""
    assert "[bus_unavailable]" in refused(cluster, AGIO_NATS_URL="nats://127.0.0.1:9")
    with NatsServer("--user", "u", "--pass", "right") as guarded:
        place = guarded.url.removeprefix("nats://")
        wrong = refused(cluster, AGIO_NATS_URL=f"nats://u:a-wrong-password@{place}")
        assert "[bus_refused]" in wrong
        assert "a-wrong-password" not in wrong
    assert "[invalid_setting]" in refused(cluster, AGIO_NATS_URL="http://127.0.0.1:4222")
    assert "[invalid_setting]" in refused(cluster, AGIO_GATEWAY_NAME="x" * 101)
    assert "[invalid_setting]" in refused(cluster, AGIO_NATS_CREDENTIALS=str(tmp_path / "missing.creds"))
    settings = {"AGIO_WORKER_KEY": WORKER_KEY, "AGIO_NATS_URL": cluster.nats.url}
    with Server(tmp_path, command="gateway", environment=settings, wait=False) as lone:
        assert lone.wait() == 1
    assert "[invalid_setting]" in lone.errors


def test_a_worker_holds_no_address_of_the_database_or_the_bus(cluster: Cluster) -> None:
    """R5, R7: none in its environment, no module that could use one, no socket but the link and its heartbeat."""
    gateway = cluster.gateway()
    for name in ("AGIO_DATABASE_URL", "AGIO_NATS_URL", "AGIO_SECRET_KEY"):
        worker = cluster.worker(gateway, **{name: cluster.settings[name]})
        assert worker.wait() == 1
        assert f"Unset {name}" in worker.errors
        assert "[not_for_workers]" in worker.errors
    worker = cluster.worker(gateway)
    with gateway.client() as client:
        gateway.await_workers(client, 1)
        session = start_session(client, "held")
        send(client, session, "hello")
        assert text_of(stream(client, session)) == "You said: hello"
    pid = worker.process.pid
    held = Path(f"/proc/{pid}/environ").read_bytes()
    assert not re.search(rb"postgres|nats:|SECRET", held)
    assert not re.search(r"asyncpg|apsw|nats", Path(f"/proc/{pid}/maps").read_text())
    known = {
        gateway.url.rpartition(":")[2],
        cluster.model.environment["OPENAI_BASE_URL"].split(":")[2].split("/")[0],
    }
    assert remote_ports(pid) <= known
    assert listening_ports(pid) == set()
    code = "import sys; import agio.cli.commands.worker; print([m for m in sys.modules if m.split('.')[0] in "
    code += "('asyncpg', 'nats', 'apsw') or m.startswith(('agio.db', 'agio.bus.nats', 'agio.gateway'))])"
    done = subprocess.run([AGIO[0], "-c", code], capture_output=True, text=True, timeout=WAIT_S, check=True)
    assert done.stdout.strip() == "[]"


def sockets(pid: int) -> list[list[str]]:
    """The TCP sockets of a process: the fields of /proc/net/tcp."""
    inodes = set[str]()
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        try:
            inodes.add(os.readlink(fd).removeprefix("socket:[").removesuffix("]"))
        except FileNotFoundError:
            continue
    lines = Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]
    return [fields for line in lines if (fields := line.split())[9] in inodes]


def remote_ports(pid: int) -> set[str]:
    """The ports that a process is connected to."""
    return {str(int(fields[2].split(":")[1], 16)) for fields in sockets(pid) if fields[3] == "01"}


def listening_ports(pid: int) -> set[str]:
    """The ports that a process listens on."""
    return {str(int(fields[1].split(":")[1], 16)) for fields in sockets(pid) if fields[3] == "0A"}


def test_a_worker_says_on_loopback_whether_it_is_linked(cluster: Cluster) -> None:
    """R5: for the process manager of its machine, and for nobody else."""
    gateway = cluster.gateway()
    settings = {
        "AGIO_WORKER_KEY": WORKER_KEY,
        "AGIO_GATEWAY_URL": gateway.url,
        **cluster.model.environment,
    }
    folder = Path(gateway.data).parent
    with Server(
        folder, *("--health-port", "0"), command="worker", environment=settings, wait=False
    ) as worker:
        health = worker.expect(HEALTH)
        with gateway.client() as client:
            gateway.await_workers(client, 1)
        assert httpx.get(health, trust_env=False).status_code == 200
        gateway.process.kill()
        worker.expect_error("the link to the gateway broke")
        assert httpx.get(health, trust_env=False).status_code == 503


def test_a_worker_key_that_is_revoked_in_mid_run_ends_the_workers_part(
    cluster: Cluster, tmp_path: Path
) -> None:
    """R7: its run goes on at a worker with a good key, at another gateway; the revoked one gets nothing more."""
    first, second = cluster.gateway(), cluster.gateway()
    keys = [*AGIO, "keys"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **cluster.settings}
    environment.pop("AGIO_WORKER_KEY")

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [*keys, *arguments], capture_output=True, text=True, env=environment, timeout=WAIT_S, check=True
        )
        return done.stdout + done.stderr

    made = run("create-worker", "far", "--tenant", "default")
    key = re.search(r"agiow_\S+", made)
    key_id = re.search(r"wkey_\w+", run("list-workers"))
    assert key is not None
    assert key_id is not None
    doomed = cluster.worker(first, AGIO_WORKER_KEY=key[0])
    with first.client() as client, second.client() as other:
        first.await_workers(client, 1)
        session = start_session(client, "held")
        send(client, session, "a story, please")
        await_events(client, 3)
        cluster.worker(second)
        first.await_workers(client, 2)
        run("revoke-worker", key_id[0])
        doomed.expect_error("worker_key_refused")
        cluster.model.let_go()
        events = [event for _, event in frames(other, session)]
        assert events[-1]["type"] == "RUN_FINISHED"
        assert answer_of(other.get("/api/runs"))["items"]
