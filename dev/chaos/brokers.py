"""Kafka for the harness: one broker or three, small, each killed and restarted by itself."""

import base64
import os
import re
import shutil
import signal
import subprocess
import threading
import time
import uuid

from stack import kafka_wire, paths, tools
from stack.process import Process
from stack.trouble import Trouble

_SOURCES = paths.SOURCES / "kafka"
# Small, and quick to start rather than quick for long.
_JVM = ["-Xms96m", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
_START_SECONDS = 120
_STOP_SECONDS = 1

# What differs from the local stack's broker: short sessions, and a transaction that was left behind ends soon.
_SHORT = {
    "group.consumer.session.timeout.ms": 2000,
    "group.consumer.heartbeat.interval.ms": 400,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 500,
    "controlled.shutdown.enable": "false",
}
_THREE = {
    "offsets.topic.replication.factor": 3,
    "transaction.state.log.replication.factor": 3,
    "transaction.state.log.min.isr": 2,
    "share.coordinator.state.topic.replication.factor": 3,
    "share.coordinator.state.topic.min.isr": 2,
    "min.insync.replicas": 2,
    "broker.session.timeout.ms": 3000,
    "broker.heartbeat.interval.ms": 500,
}


class Brokers:
    """A cluster on loopback, its data new."""

    def __init__(self, ports, controller_ports):
        self.ports = ports
        self._controllers = controller_ports
        self._processes = [None] * len(ports)
        self._cluster = _identity()
        self._away = set()
        self._lock = threading.Lock()
        self._closed = False

    def __len__(self):
        return len(self.ports)

    @property
    def addresses(self):
        """What clients are given."""
        return ",".join(f"127.0.0.1:{port}" for port in self.ports)

    def start_all(self):
        """Formats and starts every broker and waits until all answer."""
        for number in range(len(self)):
            shutil.rmtree(self.data(number), ignore_errors=True)
            self._write_properties(number)
            self._format(number)
        for number in range(len(self)):
            self._start(number)
        for number in range(len(self)):
            self.wait(number)

    def kill(self, number):
        """kill -9."""
        self._away.add(number)
        process = self._processes[number]
        os.kill(process.pid, signal.SIGKILL)
        while process.is_alive():
            time.sleep(0.01)

    def restart(self, number):
        """Starts a killed one again and waits until it answers."""
        self._start(number)
        self.wait(number)
        self._away.discard(number)

    @property
    def work(self):
        """Whether clients can work: most of the brokers are there."""
        return 2 * len(self._away) < len(self)

    def wait(self, number):
        """Waits for an answer."""
        process, end = self._processes[number], time.monotonic() + _START_SECONDS
        while kafka_wire.cluster_id(self.ports[number]) != self._cluster:
            if not process.is_alive() or time.monotonic() > end:
                raise Trouble(f"broker {number + 1} does not answer: see {paths.shown(paths.log(process.name))}")
            time.sleep(0.1)

    def stop(self):
        """Ends all of them; their data is of no further use."""
        with self._lock:
            self._closed = True
            for process in self._processes:
                if process:
                    process.stop(_STOP_SECONDS)

    def number_at(self, port):
        """Which broker has that port."""
        return self.ports.index(port)

    def data(self, number):
        """Where a broker keeps its logs."""
        return paths.MADE / f"kafka-{number + 1}"

    def _start(self, number):
        logging = f"-Dlog4j2.configurationFile={_SOURCES / 'log4j2.xml'}"
        command = [*_java(), *_JVM, logging, "kafka.Kafka", self._properties(number)]
        with self._lock:
            if self._closed:
                raise Trouble("the brokers are stopped for good")
            self._processes[number] = Process.start(f"kafka-{number + 1}", command)

    def _properties(self, number):
        return paths.MADE / f"kafka-{number + 1}.properties"

    def _write_properties(self, number):
        text = (_SOURCES / "server.properties").read_text()
        port, controller = self.ports[number], self._controllers[number]
        values = {"PORT": port, "CONTROLLER_PORT": controller, "DATA": self.data(number)}
        text = re.sub("@([A-Z_]+)@", lambda name: str(values[name.group(1)]), text)
        changes = {**_SHORT, "node.id": number + 1}
        if len(self) > 1:
            text = re.sub(r"^controller\.quorum\.bootstrap\.servers=.*$", "", text, flags=re.MULTILINE)
            voters = ",".join(f"{n + 1}@127.0.0.1:{c}" for n, c in enumerate(self._controllers))
            changes |= {**_THREE, "controller.quorum.voters": voters}
        # The last line with a name counts.
        self._properties(number).write_text(text + "".join(f"{name}={value}\n" for name, value in changes.items()))

    def _format(self, number):
        command = [*_java(), *_JVM, "kafka.tools.StorageTool", "format", "-t", self._cluster]
        command += ["-c", self._properties(number)] + (["--standalone"] if len(self) == 1 else [])
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise Trouble(f"Kafka's data folder could not be formatted: {(done.stderr or done.stdout).strip()[-300:]}")


def _java():
    return [tools.java(), "-cp", f"{paths.JARS}/*"]


def _identity():
    # The tool takes an id with a hyphen in front for an option.
    return "A" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:21] + "A"
