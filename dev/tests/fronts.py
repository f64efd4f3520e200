"""Fronts of the tests' own: a free port, data in a folder of the test, and an end by any signal."""

import os
import re
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

from client import Client

SOURCES = Path(__file__).resolve().parent.parent / "clickhouse"


class Front(Client):
    """A running front and its data folder."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.spool = self.folder / "spool"
        self.name = f"xtcp-test-{uuid.uuid4().hex[:12]}"
        self.start()

    def start(self):
        log = self.folder / "front.log"
        command = [sys.executable, "-m", "front", "--port", "0", "--name", self.name]
        command += ["--data", str(self.folder / "data"), "--log", str(self.folder / "engine.log")]
        command += ["--spool", str(self.spool)]
        with open(log, "wb") as out:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env={**os.environ, "PYTHONPATH": str(SOURCES)},
            )
        end = time.monotonic() + 60
        while True:
            text = log.read_text()
            found = re.search(r"serving \S+ on 127\.0\.0\.1:(\d+)", text)
            if found:
                self.port = int(found.group(1))
                return
            assert self.process.poll() is None and time.monotonic() < end, text
            time.sleep(0.05)

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(60)

    def spooled(self):
        """Files in this front's spool."""
        return list(self.spool.iterdir())
