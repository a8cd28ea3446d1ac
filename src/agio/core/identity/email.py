"""E-mail addresses as names of accounts: two spellings of one address are one."""

import unicodedata

from agio.errors import UserError

_MAX_CHARS = 254


def fold_email(email: str) -> str:
    """Return the one spelling of an address that is kept and compared: composed characters, in lower case."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", email.strip()).lower())


def checked_email(email: str) -> str:
    """Return an address in its one spelling. Raises UserError `invalid_email` for what cannot be one.

    Characters that only look like others (full-width letters, ligatures) are refused: an address made of them
    would pass for somebody else's.
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
