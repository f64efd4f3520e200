"""ClickHouse: the engine behind its HTTP front, its data in .dev/clickhouse."""

import urllib.error
import urllib.request
import uuid

from . import install, paths, tools
from .process import Process
from .service import Service

_SOURCES = paths.SOURCES / "clickhouse"
_DATA = paths.MADE / "clickhouse"
_NAME = "X-ClickHouse-Server-Display-Name"


class ClickHouse(Service):
    """The HTTP front."""

    name = "clickhouse"
    address_variable = "XTCP_INGEST_CLICKHOUSE_URL"

    def check(self):
        tools.python_venv()

    def pick_ports(self, ports):
        self._port = ports.pick("XTCP_DEV_CLICKHOUSE_PORT", 18123)

    def install(self):
        install.clickhouse()

    def start(self):
        identity = f"xtcp-dev-{uuid.uuid4().hex[:12]}"
        command = [paths.VENV / "bin" / "python", "-m", "front", "--port", self._port, "--name", identity]
        command += ["--data", _DATA, "--log", paths.log("clickhouse-engine")]
        environment = {"PYTHONPATH": str(_SOURCES), "PYTHONDONTWRITEBYTECODE": "1"}
        return Process.start(self.name, command, environment, port=self._port, identity=identity)

    def answers(self, process):
        return _ping(self.address(process)) == process.record["identity"]

    def address(self, process):
        return f"http://127.0.0.1:{process.record['port']}"

    def reachable(self, address):
        return _ping(address) is not None


def _ping(url):
    """The display name that a server gives of itself; None when none answers."""
    try:
        # A proxy in the environment is not for this.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(url.rstrip("/") + "/ping", timeout=3) as reply:
            return reply.headers.get(_NAME, "")
    except (OSError, ValueError):
        return None
