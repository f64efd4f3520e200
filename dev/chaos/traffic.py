"""What passes through the proxies: the inserts under way and those that are done, by member."""

import re
import threading
import time
from collections import Counter
from urllib.parse import unquote_plus

_TABLE = re.compile(r"INSERT\s+INTO\s+(?:[`\"]?\w+[`\"]?\.)?[`\"]?(\w+)", re.IGNORECASE)

# What a member writes at its start to see what the server does with it: a fault that hits it hits no record.
_PROBE = "xtcp_ingest_probe"


class Request:
    """The head of one request of a member and what is known of it."""

    def __init__(self, slot, head):
        self.slot = slot
        self.head = head
        target = unquote_plus(head.split(b" ", 2)[1].decode("latin-1"))
        found = _TABLE.search(target)
        self.table = found and found.group(1)
        if self.table == _PROBE:
            self.table = None
        # What the server took of it, once it has answered.
        self.landed = False

    @property
    def is_insert(self):
        return self.table is not None

    def __str__(self):
        return f"insert of member {self.slot} into {self.table}"


class Traffic:
    """Counts; asked from any thread."""

    def __init__(self):
        self._lock = threading.Condition(threading.RLock())
        self._under_way = set()
        self._landed = Counter()
        self._codes = Counter()
        self._last = {}

    def begin(self, request):
        """An insert has begun."""
        with self._lock:
            self._under_way.add(request)

    def end(self, request):
        """It is over, one way or another."""
        with self._lock:
            self._under_way.discard(request)

    def answered(self, request, code):
        """The server has answered it, with that exception code or 0."""
        with self._lock:
            self._codes[code] += 1
            if code == 0:
                request.landed = True
                self._landed[request.slot] += 1
                self._last[request.slot] = time.monotonic()
            self._lock.notify_all()

    def under_way(self, slot=None):
        """Inserts under way, of one member or of all."""
        with self._lock:
            return sum(slot in (None, request.slot) for request in self._under_way)

    def landed(self, but_of=None):
        """Inserts that the server has taken, those of one member left out."""
        with self._lock:
            return sum(count for slot, count in self._landed.items() if slot != but_of)

    def idle_seconds(self, slot):
        """How long ago the last insert of a member landed."""
        with self._lock:
            return time.monotonic() - self._last.get(slot, 0)

    def codes(self, code):
        """How often the server itself has answered with a code."""
        with self._lock:
            return self._codes[code]

    def wait(self, condition, seconds):
        """Waits until something that changes with an answer is so."""
        with self._lock:
            return self._lock.wait_for(condition, seconds)
