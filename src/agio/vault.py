"""Credentials at rest: sealed with AES-256-GCM under a master key, opened only as what they were sealed as.

The associated data is the secret's place, so a sealed row that is moved to another tenant, owner or field does not
open. The store keeps what comes out of here and never sees inside.
"""

import base64
import binascii
import hashlib
import os
import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agio.core.provider import Sealed, SecretPlace
from agio.errors import StoreError, UserError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES = 32
KEY_FILE = "secret.key"
"""What the master key of an embedded store is kept in, beside it."""
_NONCE_BYTES = 12
_VERSION = b"\x01"
_LABEL = b"agio secret"
_HELP = "Make one: python3 -c 'import secrets; print(secrets.token_hex(32))'"


class Vault:
    """Seals with the first of its master keys, opens with all of them."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        if not keys or any(len(key) != KEY_BYTES for key in keys):
            raise ValueError(f"A vault needs one key of {KEY_BYTES} bytes at least.")
        self.current_key_id = key_id(keys[0])
        """The id of the key that seals."""
        self._keys = {key_id(key): key for key in reversed(keys)}
        self._ciphers: dict[str, AESGCM] = {}

    def seal(self, place: SecretPlace, secret: str) -> Sealed:
        """Seal a secret for its place."""
        nonce = os.urandom(_NONCE_BYTES)
        data = self._cipher(self.current_key_id).encrypt(nonce, secret.encode(), _bound_to(place))
        return Sealed(self.current_key_id, _VERSION + nonce + data)

    def open(self, place: SecretPlace, sealed: Sealed) -> str:
        """Open what was sealed for this place. Raises StoreError `secret_unreadable`."""
        if not self.knows(sealed.key_id):
            raise _unreadable(
                place, f"it was sealed with the key {sealed.key_id[:8]}, which is not in the list"
            )
        if sealed.data[:1] != _VERSION:
            raise _unreadable(place, "it is damaged, or a newer agio sealed it")
        from cryptography.exceptions import InvalidTag

        nonce, data = sealed.data[1 : 1 + _NONCE_BYTES], sealed.data[1 + _NONCE_BYTES :]
        try:
            return self._cipher(sealed.key_id).decrypt(nonce, data, _bound_to(place)).decode()
        except (InvalidTag, ValueError):
            # Without the cause: nothing of what was tried may end up in a log.
            raise _unreadable(place, "it is damaged, or was sealed for another place") from None

    def knows(self, key_id: str) -> bool:
        """Whether a key of this id is in the list."""
        return key_id in self._keys

    def _cipher(self, key_id: str) -> "AESGCM":
        cipher = self._ciphers.get(key_id)
        if cipher is None:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM

            cipher = self._ciphers[key_id] = AESGCM(self._keys[key_id])
        return cipher


def key_id(key: bytes) -> str:
    """Return the public name of a master key."""
    return hashlib.sha256(b"agio master key\0" + key).hexdigest()[:8]


def load_keys(text: str, source: str = "AGIO_SECRET_KEY") -> list[bytes]:
    """Read a list of master keys, base64 or hex, parted by commas. Raises UserError `invalid_setting`."""
    words = [word.strip() for word in text.split(",")]
    if not any(words):
        raise _invalid(source, "it names no key")
    keys: list[bytes] = []
    for number, word in enumerate(words, 1):
        key = _decode(word)
        if len(key) != KEY_BYTES:
            raise _invalid(source, f"key {number} is not {KEY_BYTES} bytes in base64 or hex")
        if key not in keys:
            keys.append(key)
    return keys


def key_file(path: Path) -> list[bytes]:
    """Read the master keys in a file, which is made with a new one if it is missing: the newest key comes first.

    Raises UserError `insecure_key_file` if others may read it, `invalid_setting`; StoreError `store_unavailable`.
    """
    try:
        try:
            text = _read(path)
        except FileNotFoundError:
            _create(path)
            text = _read(path)
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(
            "store_unavailable", f"The file with the master key cannot be used: {error}.", {"path": str(path)}
        ) from error
    return load_keys(",".join(text.split()), str(path))


def _read(path: Path) -> str:
    with path.open(encoding="ascii") as file:
        if os.fstat(file.fileno()).st_mode & 0o077:
            raise UserError(
                "insecure_key_file",
                f"Others on this machine may read the master key in {path}. Close it to them with chmod 600 {path}; "
                "if one of them may have read it, put a new key in its first line and run agio keys rotate.",
                {"path": str(path)},
            )
        return file.read()


def _create(path: Path) -> None:
    """Make the file whole or not at all: a half-written key would lose what it seals."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        try:
            os.write(file, secrets.token_hex(KEY_BYTES).encode() + b"\n")
            os.fsync(file)
        finally:
            os.close(file)
        _put_in_place(new, path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _put_in_place(new: Path, path: Path) -> None:
    """Give the file its name, unless somebody else was first: a link refuses, where a rename would replace."""
    try:
        os.link(new, path)
    except FileExistsError:
        pass
    except OSError:  # a file system without links
        new.rename(path)
        return
    new.unlink()


def _decode(word: str) -> bytes:
    try:
        if re.fullmatch(r"[0-9a-fA-F]{64}", word):
            return bytes.fromhex(word)
        padded = word.rstrip("=").replace("-", "+").replace("_", "/")
        return base64.b64decode(padded + "=" * (-len(padded) % 4), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _bound_to(place: SecretPlace) -> bytes:
    """Encode a place so that no two places are the same bytes."""
    parts = (_LABEL, place.tenant.encode(), place.owner_id.encode(), place.field.encode())
    return _VERSION + b"".join(len(part).to_bytes(4) + part for part in parts)


def _unreadable(place: SecretPlace, why: str) -> StoreError:
    return StoreError(
        "secret_unreadable",
        f"No master key of this server opens the {place.field} of {place.owner_id} ({why}). Put the key it was "
        "sealed with back (AGIO_SECRET_KEY, or secret.key beside the store), or enter the secret anew.",
        {"owner_id": place.owner_id, "field": place.field},
    )


def _invalid(source: str, why: str) -> UserError:
    return UserError("invalid_setting", f"{source} cannot be used: {why}. {_HELP}", {"variable": source})
