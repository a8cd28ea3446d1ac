"""The messages of the bus: authenticated with the secret of the store, so that only its gateways are believed.

A message begins with a keyed hash of its subject and body: one that was forged, cut, or sent elsewhere does not open.
"""

import hashlib
import hmac

import msgspec

from agio.bus.signals import Signal
from agio.core.store.records import EventSlice

_MAC_BYTES = 16
_ID_CHARS = 12


class Envelope(msgspec.Struct, frozen=True, array_like=True):
    """A session's events. Without a payload they are read from the store."""

    session_id: str
    run_id: str
    first_pos: int
    count: int
    payload: bytes | None


_encode = msgspec.msgpack.Encoder().encode
_decode_envelope = msgspec.msgpack.Decoder(Envelope).decode
_decode_signal = msgspec.msgpack.Decoder(Signal).decode


class Sealing:
    """Encodes and opens the messages of one store's gateways."""

    def __init__(self, secret: bytes) -> None:
        self._key = hashlib.blake2b(secret, person=b"agio bus key").digest()
        self.prefix = f"agio.{hashlib.blake2b(secret, person=b'agio bus name').hexdigest()[:_ID_CHARS]}"
        """The beginning of every subject: two stores may share a server."""
        self.signals = f"{self.prefix}.signals"

    def subject(self, session_id: str) -> str:
        """Return a session's subject. A program chooses its thread ids freely, so it has a hash of the id."""
        digest = hashlib.blake2b(session_id.encode("utf-8", "surrogatepass"), digest_size=16)
        return f"{self.prefix}.s.{digest.hexdigest()}"

    def seal_events(self, subject: str, session_id: str, events: EventSlice, limit_bytes: int) -> bytes:
        """Encode events, without their payload if that exceeds the limit."""
        payload = events.payload if len(events.payload) <= limit_bytes else None
        body = Envelope(session_id, events.run_id, events.first_pos, events.count, payload)
        return self._seal(subject, _encode(body))

    def seal_signal(self, signal: Signal) -> bytes:
        """Encode a signal."""
        return self._seal(self.signals, _encode(signal))

    def open_events(self, subject: str, message: bytes) -> Envelope | None:
        """Decode events; None if the message is not one of our gateways'."""
        body = self._open(subject, message)
        try:
            found = None if body is None else _decode_envelope(body)
        except (msgspec.DecodeError, UnicodeError):
            return None
        if found is not None and found.payload is not None and found.payload.count(b"\n") != found.count:
            return None
        return found

    def open_signal(self, message: bytes) -> Signal | None:
        """Decode a signal; None if it is not one of our gateways', or one of a newer version."""
        body = self._open(self.signals, message)
        try:
            return None if body is None else _decode_signal(body)
        except (msgspec.DecodeError, UnicodeError):
            return None

    def _seal(self, subject: str, body: bytes) -> bytes:
        return self._mac(subject, body) + body

    def _open(self, subject: str, message: bytes) -> bytes | None:
        body = message[_MAC_BYTES:]
        return body if hmac.compare_digest(message[:_MAC_BYTES], self._mac(subject, body)) else None

    def _mac(self, subject: str, body: bytes) -> bytes:
        mac = hashlib.blake2b(subject.encode(), key=self._key, digest_size=_MAC_BYTES)
        mac.update(b"\n")
        mac.update(body)
        return mac.digest()
