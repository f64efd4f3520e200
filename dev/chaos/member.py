"""One ingest process behind its proxy: started, killed, frozen; what it took of memory and how it ended."""

import os
import re
import signal
import threading
import time
from pathlib import Path

from stack import paths
from stack.process import Process


class Member:
    """A place for a process; the processes that are started in it are counted as one member."""

    def __init__(self, slot, command, proxy, note_end):
        self.slot = slot
        self.busy = threading.Lock()
        self._lock = threading.RLock()
        self._command = command
        self._proxy = proxy
        self._note_end = note_end
        self._process = None
        self._frozen = False
        self._expected = False
        self._peak = 0
        self._log_start = 0
        self._closed = False

    def __str__(self):
        return f"member {self.slot}"

    @property
    def name(self):
        """Of its log."""
        return f"ingest-{self.slot}"

    @property
    def peak_mib(self):
        """The highest resident memory of any of its processes, in MiB, as far as it was seen."""
        self.watch()
        return self._peak / 1024

    @property
    def is_alive(self):
        return self._process is not None and self._process.is_alive()

    def start(self):
        """Starts a process where none runs."""
        log = paths.log(self.name)
        self._log_start = log.stat().st_size if log.exists() else 0
        with self._lock:
            if self._closed:
                return
            self._expected = False
            self._process = Process.start(self.name, self._command(self.slot, self._proxy.port))

    def kill(self):
        """kill -9."""
        with self._lock:
            self.watch()
            self._expected = True
            self._frozen = False
            self._signal(signal.SIGKILL)
            while self._process.is_alive():
                time.sleep(0.005)
            self._process.forget()

    def close(self):
        """kill -9 of what runs; nothing is started any more, whatever a fault that is under way may want."""
        with self._lock:
            self._closed = True
            if self.is_alive:
                self.kill()

    def ask_to_end(self):
        """SIGTERM."""
        with self._lock:
            self.watch()
            self._expected = True
            self._signal(signal.SIGTERM)

    def wait_end(self, patience):
        """The exit code of one that was asked to end; None when it had to be killed."""
        end = time.monotonic() + patience
        while self._process.is_alive():
            if time.monotonic() > end:
                self.kill()
                return None
            time.sleep(0.02)
        self._process.forget()
        return self._process.exit_code

    def freeze(self):
        """SIGSTOP."""
        self._frozen = True
        self._signal(signal.SIGSTOP)

    def thaw(self):
        """SIGCONT."""
        if self._frozen:
            self._frozen = False
            self._signal(signal.SIGCONT)

    def watch(self):
        """Looks at its memory, and notes it when it has ended although nobody asked it to."""
        with self._lock:
            if self._process is None or self._expected:
                return
            if self._process.is_alive():
                self._peak = max(self._peak, _peak_kib(self._process.pid))
                return
            self._expected = True
        self._process.forget()
        self._note_end(self, self._process.exit_code)

    def log_since_start(self):
        """What the present process said."""
        data = paths.log(self.name).read_bytes()[self._log_start :]
        return data.decode(errors="replace")

    def _signal(self, number):
        if self._process.is_alive():
            os.kill(self._process.pid, number)


def _peak_kib(pid):
    """The high-water mark of resident memory; 0 where the system doesn't say."""
    try:
        found = re.search(r"^VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(found.group(1)) if found else 0
