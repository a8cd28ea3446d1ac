"""What compiled schemas of strangers take stays within a bound."""

from pathlib import Path

from agio.core.schema.schema import validator
from agio.core.schema.weighed_cache import WeighedCache


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def test_the_least_recently_used_go_first() -> None:
    """S14: the bound is bytes, not a number of entries; a value larger than all of it is still given."""
    made: list[int] = []

    def make(size: int) -> bytes:
        made.append(size)
        return bytes(size)

    cache = WeighedCache(make, len, 10_000)
    for size in (1000, 2000, 1000, 5000):
        assert len(cache(size)) == size
    assert cache.size_bytes <= 10_000
    assert made == [1000, 2000, 5000]
    cache(1000)
    cache(2000)  # went when 5000 came
    assert made == [1000, 2000, 5000, 2000]
    assert len(cache(50_000)) == 50_000
    assert len(cache(50_000)) == 50_000
    assert made == [1000, 2000, 5000, 2000, 50_000]


def test_large_patterns_of_many_schemas_do_not_fill_the_memory() -> None:
    """S14: forty schemas of 10 MB each; a schema that is wanted again is compiled again."""
    before = _resident_mib()
    for number in range(40):
        patterns = [{"pattern": rf"\p{{L}}{{6}}{at}x{number}"} for at in range(32)]
        check = validator({"type": "string", "allOf": [*patterns]}, "It")
        assert check("no") is not None
    assert _resident_mib() - before < 200
