"""The records of a run: numbered without a gap, of every layout, with every kind of fault among them."""

import json
import subprocess
import threading
from collections import Counter

from stack import paths

# Each chunk has every kind of fault once and every legal oddity twice.
ROWS = 500
_FAULTS = "all=1"
_ODDITIES = "all=2"
# Records of one chunk have numbers from here on; those of faults have one as well.
STRIDE = 10_000

# It asks for the topic's partitions before it sends anything.
_NOTHING_SENT = "error: metadata of "
_PAUSE = 0.5


class Generator:
    """Sends chunk after chunk until it is told to stop. The same seed gives the same chunks."""

    def __init__(self, binary, brokers, topic, plan):
        self._command = [binary, "generate", "--json", "--kafka-brokers", brokers, "--kafka-topic", topic]
        self._command += ["--rows", ROWS, "--rate", plan.rows_per_second, "--faults", _FAULTS, "--oddities", _ODDITIES]
        self._command += ["--hosts", 5, "--sockets", 200, "--envelope", "1..40", "--mixed-every", 5]
        self._command += ["--now", "2026-09-01T12:00:00Z", "--kafka-property", "enable.idempotence=true"]
        self._seed = plan.seed
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._child = None
        self.chunks = 0
        self.rows = Counter()
        self.diverted = Counter()
        self.failure = None

    def start(self):
        self._thread.start()

    def stop(self):
        """Ends it with the chunk that is under way."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def stop_at_once(self):
        """Ends it in the middle of a chunk."""
        self._stop.set()
        child = self._child
        if child is not None and child.poll() is None:
            child.kill()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self):
        log = paths.log("generate")
        log.unlink(missing_ok=True)
        while not self._stop.is_set() and self.failure is None:
            first = 1 + self.chunks * STRIDE
            own = ["--first-cookie", first, "--seed", (self._seed * 1000 + self.chunks) & 0x7FFFFFFF]
            command = [str(part) for part in self._command + own]
            with open(log, "ab") as said:
                self._child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said)
                out, _ = self._child.communicate()
            if self._child.returncode and _NOTHING_SENT in log.read_text(errors="replace"):
                # The broker was away when it began.
                log.unlink()
                self._stop.wait(_PAUSE)
                continue
            if self._child.returncode:
                self.failure = f"the generator ended with {self._child.returncode}: {paths.shown(log)}"
                return
            sent = json.loads(out)
            self.chunks += 1
            self.rows.update({table: count for table, count in sent["rows"].items() if count})
            self.diverted.update(sent["diverted"])
