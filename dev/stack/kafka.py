"""Apache Kafka: one JVM that is broker and controller, its data in .dev/kafka."""

import base64
import re
import socket
import subprocess
import uuid

from . import install, kafka_wire, paths, tools
from .process import Process
from .say import line
from .service import Service
from .trouble import Trouble

_SOURCES = paths.SOURCES / "kafka"
_DATA = paths.MADE / "kafka"
_PROPERTIES = paths.MADE / "kafka.properties"
_MEMORY = ["-Xms256m", "-Xmx1g"]


class Kafka(Service):
    """The broker."""

    name = "kafka"
    address_variable = "XTCP_INGEST_KAFKA_BROKERS"

    def check(self):
        tools.java()
        if not install.kafka_is_there():
            tools.maven()

    def pick_ports(self, ports):
        self._port = ports.pick("XTCP_DEV_KAFKA_PORT", 19092)
        self._controller_port = ports.pick("XTCP_DEV_KAFKA_CONTROLLER_PORT", 19093)

    def install(self):
        install.kafka()

    def start(self):
        _write_properties(self._port, self._controller_port)
        identity = _cluster_id() or _format()
        logging = f"-Dlog4j2.configurationFile={_SOURCES / 'log4j2.xml'}"
        command = [*_java(), *_MEMORY, logging, "kafka.Kafka", _PROPERTIES]
        return Process.start(self.name, command, port=self._port, identity=identity)

    def answers(self, process):
        return kafka_wire.cluster_id(process.record["port"]) == process.record["identity"]

    def address(self, process):
        return f"127.0.0.1:{process.record['port']}"

    def reachable(self, address):
        return any(_listens(broker.strip()) for broker in address.split(","))


def _java():
    return [tools.java(), "-cp", f"{paths.JARS}/*"]


def _write_properties(port, controller):
    text = (_SOURCES / "server.properties").read_text()
    values = {"PORT": port, "CONTROLLER_PORT": controller, "DATA": _DATA}
    _PROPERTIES.write_text(re.sub("@([A-Z_]+)@", lambda name: str(values[name.group(1)]), text))


def _cluster_id():
    """The id that the data was formatted with; None before that."""
    try:
        text = (_DATA / "meta.properties").read_text()
    except FileNotFoundError:
        return None
    return re.search(r"^cluster\.id=(.*)$", text, re.MULTILINE).group(1)


def _format():
    identity = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    line(Kafka.name, "formatting its data folder")
    # The tool takes an id with a hyphen in front for an option.
    identity = identity.replace("-", "A", 1) if identity.startswith("-") else identity
    command = [*_java(), "kafka.tools.StorageTool", "format", "--standalone", "-t", identity, "-c", _PROPERTIES]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise Trouble(f"Kafka's data folder could not be formatted: {(done.stderr or done.stdout).strip()[-300:]}")
    return identity


def _listens(broker):
    host, _, port = broker.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), 3).close()
    except (OSError, ValueError):
        return False
    return True
