"""What happened when: shown as it happens, and kept."""

import sys
import threading
import time
from collections import Counter


class Timeline:
    """The events of one run; seconds count from its start."""

    def __init__(self, out=sys.stdout):
        self._start = time.monotonic()
        self._lock = threading.Lock()
        self._out = out
        self._lines = []
        self._strikes = Counter()

    @property
    def seconds(self):
        return time.monotonic() - self._start

    @property
    def strikes(self):
        """How often each kind of fault has struck."""
        with self._lock:
            return Counter(self._strikes)

    def event(self, kind, text, mark=" "):
        """One line."""
        with self._lock:
            line = f"  {self.seconds:7.2f} {mark} {kind:<20}{text}"
            self._lines.append(line)
            print(line, file=self._out, flush=True)

    def strike(self, kind, text):
        """A fault that hit something."""
        with self._lock:
            self._strikes[kind] += 1
        self.event(kind, text, "*")

    def missed(self, kind, text):
        """A fault that hit nothing; it counts for nothing."""
        self.event(kind, f"missed: {text}", "-")

    def text(self):
        """All lines."""
        with self._lock:
            return "".join(f"{line}\n" for line in self._lines)
