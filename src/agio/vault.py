"""Credentials at rest, sealed with AES-256-GCM under a master key.

The associated data is the secret's place. A sealed row that is moved to another tenant, owner or field does not
open. The store keeps only the sealed bytes.
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
"""The file of an embedded store's master key, beside the store."""
_NONCE_BYTES = 12
_VERSION = b"\x01"
_LABEL = b"agio secret"
_HELP = "Make one: python3 -c 'import secrets; print(secrets.token_hex(32))'"


class Vault:
    """Seals with the first of its master keys and opens with any of them."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        if not keys or any(len(key) != KEY_BYTES for key in keys):
            raise ValueError(f"A vault needs one key of {KEY_BYTES} bytes at least.")
        self.current_key_id = key_id(keys[0])
        """The id of the sealing key."""
        self._keys = {key_id(key): key for key in reversed(keys)}
        self._ciphers: dict[str, AESGCM] = {}

    def seal(self, place: SecretPlace, secret: str) -> Sealed:
        """Seal a secret for its place."""
        nonce = os.urandom(_NONCE_BYTES)
        data = self._cipher(self.current_key_id).encrypt(nonce, secret.encode(), _bound_to(place))
        return Sealed(self.current_key_id, _VERSION + nonce + data)

    def open(self, place: SecretPlace, sealed: Sealed) -> str:
        """Open a secret that was sealed for this place. Raises StoreError `secret_unreadable`."""
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
            # The cause is omitted: no decrypted or sealed bytes may reach a log.
            raise _unreadable(place, "it is damaged, or was sealed for another place") from None

    def knows(self, key_id: str) -> bool:
        """Whether the vault has the key with this id."""
        return key_id in self._keys

    def _cipher(self, key_id: str) -> "AESGCM":
        cipher = self._ciphers.get(key_id)
        if cipher is None:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM

            cipher = self._ciphers[key_id] = AESGCM(self._keys[key_id])
        return cipher


def key_id(key: bytes) -> str:
    """Return the public id of a master key."""
    return hashlib.sha256(b"agio master key\0" + key).hexdigest()[:8]


def load_keys(text: str, source: str = "AGIO_SECRET_KEY") -> list[bytes]:
    """Parse master keys, in base64 or hex, separated by commas. Raises UserError `invalid_setting`."""
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
    """Read the master keys in a file, the newest first. A missing file is created with a new key.

    Raises UserError `insecure_key_file` if other users may read it, `invalid_setting`; StoreError `store_unavailable`.
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
    """Create the file atomically: a partly written key would lose the secrets it seals."""
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
    """Link the file to its name unless another process created it first. A rename would replace that file."""
    try:
        os.link(new, path)
    except FileExistsError:
        pass
    except OSError:  # the file system has no hard links
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
    """Encode a place injectively: each part is prefixed with its length."""
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
