"""ClickHouse: the engine behind its HTTP front, its data in .dev/clickhouse."""

import hashlib
import os
import shutil
import urllib.request
import uuid
from pathlib import Path

from . import install, paths, tools
from .process import Process
from .service import Service

_SOURCES = paths.SOURCES / "clickhouse"
# Elsewhere for measurements: in memory no file system adds costs of its own to many files that come and go.
_DATA = Path(os.environ.get("XTCP_DEV_CLICKHOUSE_DATA") or paths.MADE / "clickhouse")
# One for each stack. A name that stays lets the next start remove what a killed one left.
_SPOOL = "xtcp-dev-" + hashlib.sha256(str(paths.MADE).encode()).hexdigest()[:12]
_MEMORY = Path("/dev/shm")
_MEMORY_NEEDED = 1 << 30
_NAME = "X-ClickHouse-Server-Display-Name"


class ClickHouse(Service):
    """The HTTP front."""

    name = "clickhouse"
    address_variable = "XTCP_INGEST_CLICKHOUSE_URL"
    settings = {"XTCP_INGEST_PLATFORM": "single"}

    def check(self):
        tools.python_venv()

    def pick_ports(self, ports):
        self._port = ports.pick("XTCP_DEV_CLICKHOUSE_PORT", 18123)

    def install(self):
        install.clickhouse()

    def start(self):
        identity = f"xtcp-dev-{uuid.uuid4().hex[:12]}"
        command = [paths.VENV / "bin" / "python", "-m", "front", "--port", self._port, "--name", identity]
        command += ["--data", _DATA, "--spool", _spool(), "--log", paths.log("clickhouse-engine")]
        environment = {"PYTHONPATH": str(_SOURCES), "PYTHONDONTWRITEBYTECODE": "1"}
        return Process.start(self.name, command, environment, port=self._port, identity=identity)

    def answers(self, process):
        return _ping(self.address(process)) == process.record["identity"]

    def address(self, process):
        return f"http://127.0.0.1:{process.record['port']}"

    def clean(self):
        shutil.rmtree(_MEMORY / _SPOOL, ignore_errors=True)

    def reachable(self, address):
        return _ping(address) is not None


def _spool():
    """In memory where there is enough of it (a container often has 64 MB there), else on the disk."""
    if os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free >= _MEMORY_NEEDED:
        return _MEMORY / _SPOOL
    return paths.MADE / "spool"


def _ping(url):
    """The display name that a server gives of itself; None when none answers."""
    try:
        # A proxy in the environment is not for this.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(url.rstrip("/") + "/ping", timeout=3) as reply:
            return reply.headers.get(_NAME, "")
    except (OSError, ValueError):
        return None
