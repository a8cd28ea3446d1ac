"""E-mail addresses as account names. Different spellings of one address are normalized to one."""

import unicodedata

from agio.errors import UserError

_MAX_CHARS = 254


def fold_email(email: str) -> str:
    """Return the canonical spelling of an address, which is stored and compared: NFC, in lower case."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", email.strip()).lower())


def checked_email(email: str) -> str:
    """Return an address in its canonical spelling. Raises UserError `invalid_email`.

    Compatibility characters (full-width letters, ligatures) are refused: an address made of them could pass for
    another person's.
    """
    folded = fold_email(email)
    local, at, domain = folded.rpartition("@")
    if (
        not (local and at and "." in domain.strip("."))
        or len(folded) > _MAX_CHARS
        or not folded.isprintable()
        or any(mark in folded for mark in ' <>,;:"\\()[]')
        or "@" in local
        or domain.startswith((".", "-"))
        or domain.endswith((".", "-"))
        or ".." in folded
        or unicodedata.normalize("NFKC", folded) != folded
    ):
        raise UserError("invalid_email", "This is not an e-mail address.")
    return folded
