"""CPU time and memory of processes and their threads, as Linux counts them."""

import os
import time
from pathlib import Path

from stack.process import Process
from trial.memory import peak_bytes
from trial.trouble import Trouble

_TICK = os.sysconf("SC_CLK_TCK")


def server():
    """The process of ClickHouse."""
    found = Process.load("clickhouse")
    if found is None:
        raise Trouble("the CPU time of ClickHouse can only be read where the stack runs it: unset XTCP_INGEST_CLICKHOUSE_URL")
    return found.pid


def cpu_seconds(pid):
    """All CPU time that a process and its threads have used, those that ended included; /proc has only hundredths of a second."""
    return time.clock_gettime(_cpu_clock(pid))


def forget_peak(pid):
    """Has the largest resident set counted from what is resident now."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


class Watched:
    """A process that ends by itself: what it and its threads had used when they were last seen."""

    def __init__(self):
        self.peak = 0
        self._threads = {}

    def look(self, pid):
        """Called often. What a thread uses between the last look and its end is missed."""
        try:
            seen = peak_bytes(pid)
            if not seen:
                return
            self.peak = max(self.peak, seen)
            for task in Path(f"/proc/{pid}/task").iterdir():
                name = (task / "comm").read_text().strip()
                self._threads[task.name] = (name, _cpu(task / "stat"))
        except (FileNotFoundError, ProcessLookupError):
            return

    def seconds(self, threads):
        """CPU time of the threads whose name `threads` says yes to."""
        return sum(seconds for name, seconds in self._threads.values() if threads(name))


def _cpu_clock(pid):
    """What clock_getcpuclockid(3) gives for a process on Linux; Python has that for threads only."""
    return ~pid << 3 | 2


def _cpu(stat):
    user, system = stat.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / _TICK
