"""A response body, decompressed as it arrives and bounded: a decompression bomb is aborted."""

import zlib
from collections.abc import Sequence

from agio.errors import UpstreamError


class Body:
    """Collects a body. Raises UpstreamError `upstream_too_large`, `upstream_invalid`."""

    def __init__(
        self, host: str, headers: Sequence[tuple[str, str]], limit_bytes: int, *, empty: bool = False
    ) -> None:
        self._host = host
        self._limit = limit_bytes
        self._data = bytearray()
        said = {name.lower(): value.strip().lower() for name, value in headers}
        coding = said.get("content-encoding", "")
        if coding not in ("", "identity", "gzip", "x-gzip") and not empty:
            raise UpstreamError("upstream_invalid", f"{host} answers in an encoding that was not requested.")
        self._gzip = zlib.decompressobj(wbits=31) if "gzip" in coding else None
        length = said.get("content-length", "")
        if length.isdigit() and not empty and (len(length) > 18 or int(length) > limit_bytes):
            raise self._too_large()

    def feed(self, part: bytes) -> None:
        """Add the next bytes."""
        if self._gzip is not None:
            room = self._limit - len(self._data) + 1
            try:
                part = b"" if self._gzip.eof else self._gzip.decompress(part, room)
            except zlib.error as error:
                raise self._damaged() from error
        self._data += part
        if len(self._data) > self._limit:
            raise self._too_large()

    def close(self) -> bytes:
        """Return the complete body."""
        if self._gzip is not None and self._data and not self._gzip.eof:
            raise self._damaged()
        return bytes(self._data)

    def _damaged(self) -> UpstreamError:
        return UpstreamError("upstream_invalid", f"The compressed answer of {self._host} is damaged.")

    def _too_large(self) -> UpstreamError:
        return UpstreamError(
            "upstream_too_large", f"The answer of {self._host} is larger than {self._limit} bytes."
        )
