"""What the kernel says a server has used: CPU time, memory and bytes written, of its whole process tree."""

import os
from pathlib import Path
from typing import NamedTuple

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Used(NamedTuple):
    """A reading. `memory_kb` is what is resident; `written_bytes` what was sent to the disk, not to a cache."""

    cpu_s: float
    memory_kb: int
    written_bytes: int


def read_used(pid: int) -> Used:
    """Add up a process, its descendants, and for CPU those that have ended."""
    ticks = memory_kb = written_bytes = 0
    for each in process_tree(pid):
        try:
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            status = Path(f"/proc/{each}/status").read_text()
            io = Path(f"/proc/{each}/io").read_text()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))
        memory_kb += _number_after(status, "VmRSS:")
        written_bytes += _number_after(io, "\nwrite_bytes:")
    return Used(ticks / TICKS_PER_S, memory_kb, written_bytes)


def read_cpu_ns(pid: int) -> int:
    """Add up the threads of one process, to the nanosecond: `read_used` counts in hundredths of a second."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads)


def process_tree(pid: int) -> list[int]:
    found = [pid]
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in (thread / "children").read_text().split():
                found += process_tree(int(child))
    except OSError:
        pass
    return found


def _number_after(text: str, label: str) -> int:
    return int(text.partition(label)[2].split(maxsplit=1)[0])
