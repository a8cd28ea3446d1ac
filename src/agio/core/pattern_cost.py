"""How much work a regular expression in a JSON schema makes: to compile it, and to look for it in a text."""

import re

_BACKTRACKS = re.compile(r"\(\?(?:[=!>]|<[=!])|\\[1-9k]|[*+?}]\+")
"""What only an engine that goes back and forth can look for."""
_PIECE = re.compile(
    r"\\p\{[^}]*\}|\\.|\[(?:\\.|[^\]\\])*\]|\((?:\?[^):]*:)?|\)|\{(\d+)(?:,(\d*))?\}|.", re.DOTALL
)
_LARGE = re.compile(r"\\[pPwW]")
_MIDDLE = re.compile(r"\\[dDsS]|\.|\[\^")
_MOST = 10**9


def backtracks(pattern: str) -> bool:
    """Whether looking for it may go back and forth, up to the limit the checker is given."""
    return _BACKTRACKS.search(pattern) is not None


def compile_cost(pattern: str) -> int:
    """How large it is written out: `(ab){100}` is 200 pieces, and classes of many characters count as several."""
    whole: list[int] = [0]
    last = 0
    for found in _PIECE.finditer(pattern):
        piece = found[0]
        if piece.startswith("("):
            whole.append(0)
            last = 0
        elif piece == ")":
            last = whole.pop() if len(whole) > 1 else 0
            whole[-1] += last
        elif found[1] is not None:
            times = max(int(found[1][:9]), int((found[2] or "0")[:9]), 1)
            whole[-1] = min(whole[-1] + last * (times - 1), _MOST)
            last = min(last * times, _MOST)
        else:
            last = 20 if _LARGE.search(piece) else 4 if _MIDDLE.search(piece) else 1
            whole[-1] += last
    return min(sum(whole), _MOST)
