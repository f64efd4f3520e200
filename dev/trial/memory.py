"""The memory and the CPU time of a process as Linux counts them."""

import os
import re
from pathlib import Path


def peak_bytes(pid):
    """The largest resident set of a process; 0 where the system doesn't say, as of one that has ended."""
    told = re.search(r"^VmHWM:\s+(\d+) kB$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return int(told.group(1)) * 1024 if told else 0


class Peak:
    """The largest resident set that was seen, in bytes, and the CPU time up to the last look, in seconds."""

    def __init__(self):
        self.bytes = 0
        self.cpu = 0.0

    def look(self, pid):
        """Called often. The system keeps the peak itself, so nothing between two looks is missed."""
        try:
            seen = peak_bytes(pid)
            # User and system time, after the name in parentheses.
            ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        except (FileNotFoundError, ProcessLookupError):
            return
        self.cpu = max(self.cpu, sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"))
        self.bytes = max(self.bytes, seen)
