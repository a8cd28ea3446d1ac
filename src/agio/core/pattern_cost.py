"""How much work a regular expression in a JSON schema makes: to compile it, and to look for it in a text."""

import re
from dataclasses import dataclass, field
from functools import lru_cache

BACKTRACK_STEPS = 5_000
"""A pattern that goes back and forth more often than that does not match."""
CHARS_A_PLACE = 32
"""A long text counts as several places: patterns look through all of it."""
_STEP = 4
"""What going back once counts as, beside what is looked through from there."""
_CHARS_A_STEP = 8
_ALWAYS = 100
"""The power of what may double with each character."""
_PIECE = re.compile(
    r"\\[pP](?:\{[^}]*\}|.)|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\((?:\?(?:[=!>]|<[=!]|\(|P[=>]|[^)(:]*:|P?<\w*>))?|\)"
    r"|\{(\d+)(?:(,)(\d*))?\}|[*+?]|.",
    re.DOTALL,
)
_LOOKS = ("(?=", "(?!", "(?<=", "(?<!", "(?>")
_NEEDS_BACKTRACKING = re.compile(r"\\[1-9kKGg]|\(\?\(|\(\?P[=>]")
_PROPERTY = re.compile(r"\\[pP]")
_WORD = re.compile(r"\\[wW]")
_DIGIT = re.compile(r"\\[dD]")
_SPACE = re.compile(r"\\[sS]")
_MANY = re.compile(r"\\[WD]|\A\.\Z|\A\[\^|\\[ux]|[^\x00-\x7f]")
_MOST = 10**9


@dataclass(frozen=True, slots=True)
class Search:
    """How often looking for a pattern may go back and forth."""

    power: int
    """In a text of n characters, n to the power of this."""
    looks: int
    """How many parts of it look around or back: each may look through the whole text."""
    loops: bool
    """Whether it looks around again and again on its way through the text."""

    def work_in(self, chars: int) -> int:
        """How many parts of a schema it is worth to look for it in a text of so many characters."""
        work = 1 + chars // CHARS_A_PLACE
        if not self.looks:
            return work
        most = BACKTRACK_STEPS + (chars if self.loops else 0)
        steps = min(most, (max(chars, 1) + 1) ** min(self.power, 13))
        return work + steps * self.looks * (_STEP + chars // _CHARS_A_STEP)


@dataclass(slots=True)
class _Group:
    """What is known of a group while it is read. What comes last and is plain needs no going back: its `tail`."""

    opened: str = ""
    power: int = 0
    tail: int = 0
    looks: int = 0
    alternates: bool = False
    loops: bool = False
    last: "_Group | None" = field(default=None, repr=False)

    def look(self, power: int, looks: int) -> None:
        self.power += self.tail + power
        self.tail = 0
        self.looks += looks

    def close(self, inner: "_Group") -> None:
        """Take in a group that ends here."""
        self.loops = self.loops or inner.loops
        self.last = inner
        if inner.opened in _LOOKS:
            self.look(inner.power + inner.tail if inner.looks else 0, inner.looks + 1)
        elif inner.looks:
            self.look(inner.power + inner.tail, inner.looks)
        else:
            self.tail += inner.tail

    def repeat(self, once: bool) -> None:
        """Repeat what was read last; `once`: it is only left out or not."""
        inner, self.last = self.last, None
        if inner is None or once:
            self.tail += 1
        elif inner.looks or inner.opened in _LOOKS:
            self.power = _ALWAYS
            self.loops = True
        else:
            self.tail += _ALWAYS if inner.tail else 1


@lru_cache(maxsize=1024)
def search_of(pattern: str) -> Search:
    """Find out how often looking for a pattern may go back: `^(?!a)b+$` once, `^(a|aa)+(?=x)` ever again."""
    groups = [_Group()]
    repeated = False
    for found in _PIECE.finditer(pattern):
        piece, group = found[0], groups[-1]
        if piece in ("*", "+", "?") or found[1] is not None:
            if not repeated:
                is_fixed = found[1] is not None and (not found[2] or found[1] == found[3])
                if not is_fixed or group.last is not None:
                    group.repeat(piece in ("?", "{0,1}"))
            elif piece == "+":
                group.look(0, 1)
            repeated = True
            continue
        repeated = False
        if _NEEDS_BACKTRACKING.match(piece):
            group.look(0, 1)
        if piece.startswith("("):
            groups.append(_Group(piece))
        elif piece == ")":
            if len(groups) > 1:
                groups[-2].close(groups.pop())
        else:
            group.last = None
            if piece == "|":
                group.tail += 1
                group.alternates = True
    while len(groups) > 1:
        groups[-2].close(groups.pop())
    whole = groups[0]
    is_anchored = pattern.startswith("^") and not whole.alternates
    return Search(whole.power + (not is_anchored), whole.looks, whole.loops)


def compile_cost(pattern: str) -> int:
    """How large it is written out, in half microseconds: `(ab){100}` is 200, classes of many characters are more."""
    looks = search_of(pattern).looks > 0
    folds = 2 if "(?i" in pattern else 1
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
            times = max(int(found[1][:9]), int((found[3] or "0")[:9]), 1)
            whole[-1] = min(whole[-1] + last * (times - 1), _MOST)
            last = min(last * times, _MOST)
        else:
            last = _weight(piece, looks) * (folds if piece[0] in "\\[" else 1)
            whole[-1] += last
    return min(sum(whole), _MOST)


def _weight(piece: str, looks: bool) -> int:
    """Beside what looks around, `\\w` and `\\d` mean the letters and digits of all languages."""
    size = 1 + len(piece) // 3
    if _PROPERTY.search(piece) or (looks and _WORD.search(piece)):
        return 800 + size
    if looks and _DIGIT.search(piece):
        return 100 + size
    if _SPACE.search(piece):
        return 25 + size
    if _MANY.search(piece):
        return 12 + size
    return 3 if _WORD.match(piece) or _DIGIT.match(piece) else size
