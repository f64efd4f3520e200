"""The memory of a process as Linux counts it."""

import re
from pathlib import Path


class Peak:
    """The largest resident set that was seen, in bytes."""

    def __init__(self):
        self.bytes = 0

    def look(self, pid):
        """Called often. The system keeps the peak itself, so nothing between two looks is missed."""
        try:
            told = re.search(r"^VmHWM:\s+(\d+) kB$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
        except (FileNotFoundError, ProcessLookupError):
            return
        if told:
            self.bytes = max(self.bytes, int(told.group(1)) * 1024)
