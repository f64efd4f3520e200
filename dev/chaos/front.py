"""ClickHouse for the harness: the engine behind its front, killed and restarted, its data new."""

import os
import shutil
import signal
import tempfile
import threading
import time
import urllib.request
import uuid
from pathlib import Path

from stack import paths
from stack.process import Process
from stack.trouble import Trouble

_SOURCES = paths.SOURCES / "clickhouse"
_START_SECONDS = 90
_STOP_SECONDS = 1


class Front:
    """The engine and the HTTP front of it."""

    def __init__(self, port):
        self.port = port
        self._data = paths.MADE / "clickhouse"
        memory = Path("/dev/shm")
        self._spool_base = memory if os.access(memory, os.W_OK) else paths.MADE
        self._spool = None
        self._process = None
        self._lock = threading.Lock()
        self._closed = False
        # Set while it answers.
        self.up = threading.Event()

    def start_new(self):
        """Starts it without any data."""
        shutil.rmtree(self._data, ignore_errors=True)
        self._spool = Path(tempfile.mkdtemp(prefix="xtcp-chaos-", dir=self._spool_base))
        self.restart()

    def kill(self):
        """kill -9."""
        self.up.clear()
        os.kill(self._process.pid, signal.SIGKILL)
        while self._process.is_alive():
            time.sleep(0.01)

    def restart(self):
        """Starts it on the data that is there and waits until it answers."""
        identity = f"xtcp-chaos-{uuid.uuid4().hex[:12]}"
        command = [paths.VENV / "bin" / "python", "-m", "front", "--port", self.port, "--name", identity]
        command += ["--data", self._data, "--spool", self._spool, "--log", paths.log("clickhouse-engine")]
        environment = {"PYTHONPATH": str(_SOURCES), "PYTHONDONTWRITEBYTECODE": "1"}
        with self._lock:
            if self._closed:
                raise Trouble("ClickHouse is stopped for good")
            self._process = Process.start("clickhouse", command, environment)
        end = time.monotonic() + _START_SECONDS
        while self._name() != identity:
            if not self._process.is_alive() or time.monotonic() > end:
                raise Trouble(f"ClickHouse does not answer: see {paths.shown(paths.log('clickhouse'))}")
            time.sleep(0.05)
        self.up.set()

    def stop(self):
        """Ends it; its data is of no further use."""
        with self._lock:
            self._closed = True
            if self._process:
                self._process.stop(_STOP_SECONDS)
        if self._spool:
            shutil.rmtree(self._spool, ignore_errors=True)

    def _name(self):
        """The display name that it gives of itself; None when it doesn't answer."""
        try:
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            with opener.open(f"http://127.0.0.1:{self.port}/ping", timeout=3) as reply:
                return reply.headers.get("X-ClickHouse-Server-Display-Name")
        except (OSError, ValueError):
            return None
