"""A worker's heartbeat, sent from its own thread: a busy event loop does not look like a dead process."""

import asyncio
import http.client
import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from agio.worker.address import GatewayAddress

_log = logging.getLogger("agio.worker")

_TIMEOUT_S = 5.0
_GONE = 410


class Heartbeat:
    """Tells the gateway that this worker is alive, and detects a silent gateway.

    Both callbacks run in the event loop: `on_silence` after the gateway was silent for the interval it set, `on_gone`
    once the gateway has declared this worker dead.
    """

    def __init__(
        self,
        gateway: GatewayAddress,
        key: str,
        worker: str,
        *,
        on_silence: Callable[[], None],
        on_gone: Callable[[], None],
    ) -> None:
        self._gateway = gateway
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "text/plain"}
        self._worker = worker
        self._at = ""
        self._on_silence = on_silence
        self._on_gone = on_gone
        self._loop: asyncio.AbstractEventLoop | None = None
        self._interval_s = self._silence_s = 0.0
        self._heard = time.monotonic()
        self._beaten = self._heard
        """When the last answered beat was sent."""
        self._silent = False
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(
        self, interval_s: float, silence_s: float, gateway: GatewayAddress, gateway_id: str = ""
    ) -> None:
        """Start, or continue with the gateway of a new link and its intervals. Call it in the event loop."""
        self._gateway, self._at = gateway, gateway_id
        self._loop = asyncio.get_running_loop()
        self._interval_s, self._silence_s = interval_s, silence_s
        self.heard()
        self._beaten = time.monotonic()
        if self._thread is None:
            self._thread = threading.Thread(target=self._beat, name="agio heartbeat", daemon=True)
            self._thread.start()

    def heard(self) -> None:
        """Record that a message from the gateway arrived."""
        self._heard = time.monotonic()
        self._silent = False

    @property
    def overdue(self) -> bool:
        """Whether no beat was answered within the silence interval. Messages heard since may be old."""
        return time.monotonic() - self._beaten > self._silence_s

    def stop(self) -> None:
        """End the thread, without waiting for it."""
        self._stopped.set()

    def _beat(self) -> None:
        gateway = self._gateway
        connection = _open(gateway)
        while not self._stopped.wait(self._pause_s()):
            sent_at = time.monotonic()
            if gateway is not self._gateway:
                connection.close()
                gateway = self._gateway
                connection = _open(gateway)
            try:
                connection.request("POST", gateway.heartbeat_path, self._body(), self._headers)
                response = connection.getresponse()
                response.read()
                if response.status == _GONE:
                    self._tell(self._on_gone)
                if response.status < 300:
                    self._beaten = sent_at
                if response.status < 300 or response.status == _GONE:
                    self.heard()
                else:
                    _log.warning("the gateway answers the heartbeat with %d", response.status)
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                _log.info("the heartbeat was not answered: %s", error)
            self._watch()
        connection.close()

    def _body(self) -> bytes:
        """The worker and the gateway it is linked to: a load balancer may bring the beat to another."""
        return f"{self._worker} {self._at}".rstrip().encode()

    def _pause_s(self) -> float:
        """Return the time to the next beat: the interval, or less if the silence interval ends before."""
        left_s = self._heard + self._silence_s - time.monotonic()
        return max(0.05, min(self._interval_s, left_s)) if left_s > 0 else self._interval_s

    def _watch(self) -> None:
        if self._silent or time.monotonic() - self._heard < self._silence_s:
            return
        self._silent = True
        _log.warning("the gateway was silent for %g s: its runs are released", self._silence_s)
        self._tell(self._on_silence)

    def _tell(self, what: Callable[[], None]) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has closed
                self._loop.call_soon_threadsafe(what)


def _open(gateway: GatewayAddress) -> http.client.HTTPConnection:
    kind = http.client.HTTPSConnection if gateway.secure else http.client.HTTPConnection
    return kind(gateway.authority, timeout=_TIMEOUT_S)
