"""Kafka for the harness: one broker or three, small, each killed and restarted by itself.

A single broker has its controller in a process of its own, which is not killed: a broker that is its own controller begins,
after a kill, as the leader that it was before, loses that at once, and Kafka 4.3 may meanwhile take a transaction for ended
whose end it hasn't written (docs/delivery.md, "What is not promised").
"""

import base64
import os
import shutil
import signal
import threading
import time
import uuid

from stack import kafka_wire, paths
from stack.trouble import Trouble

from . import jvm

_START_SECONDS = 120
_STOP_SECONDS = 1

# What differs from the local stack's broker: short sessions, and a transaction that was left behind ends soon.
_SHORT = {
    "group.consumer.session.timeout.ms": 2000,
    "group.consumer.heartbeat.interval.ms": 400,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 500,
    "controlled.shutdown.enable": "false",
    "broker.session.timeout.ms": 3000,
    "broker.heartbeat.interval.ms": 500,
}
_CONTROLLER = "kafka-controller"
_CONTROLLER_ID = 100
_THREE = {
    "offsets.topic.replication.factor": 3,
    "transaction.state.log.replication.factor": 3,
    "transaction.state.log.min.isr": 2,
    "share.coordinator.state.topic.replication.factor": 3,
    "share.coordinator.state.topic.min.isr": 2,
    "min.insync.replicas": 2,
}


class Brokers:
    """A cluster on loopback, its data new."""

    def __init__(self, ports, controller_ports):
        self.ports = ports
        self._controllers = controller_ports
        self._processes = [None] * len(ports)
        self._controller = None
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
        if len(self) == 1:
            self._start_controller()
        for number in range(len(self)):
            shutil.rmtree(self.data(number), ignore_errors=True)
            properties = self._write_properties(number)
            jvm.form(properties, self._cluster, *(["--no-initial-controllers"] if len(self) == 1 else []))
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
            for process in [*self._processes, self._controller]:
                if process:
                    process.stop(_STOP_SECONDS)

    def number_at(self, port):
        """Which broker has that port."""
        return self.ports.index(port)

    def data(self, number):
        """Where a broker keeps its logs."""
        return paths.MADE / f"kafka-{number + 1}"

    def _start_controller(self):
        data = paths.MADE / _CONTROLLER
        shutil.rmtree(data, ignore_errors=True)
        changes = {
            **_SHORT,
            "process.roles": "controller",
            "node.id": _CONTROLLER_ID,
            "listeners": f"CONTROLLER://127.0.0.1:{self._controllers[0]}",
            "advertised.listeners": None,
        }
        file = jvm.properties(_CONTROLLER, changes, PORT=self.ports[0], CONTROLLER_PORT=self._controllers[0], DATA=data)
        jvm.form(file, self._cluster, "--standalone")
        self._controller = jvm.start(_CONTROLLER, file)

    def _start(self, number):
        with self._lock:
            if self._closed:
                raise Trouble("the brokers are stopped for good")
            name = f"kafka-{number + 1}"
            self._processes[number] = jvm.start(name, paths.MADE / f"{name}.properties")

    def _write_properties(self, number):
        port, controller = self.ports[number], self._controllers[number]
        changes = {**_SHORT, "node.id": number + 1}
        if len(self) == 1:
            changes |= {"process.roles": "broker", "listeners": f"PLAINTEXT://127.0.0.1:{port}"}
        else:
            voters = ",".join(f"{n + 1}@127.0.0.1:{c}" for n, c in enumerate(self._controllers))
            changes |= {**_THREE, "controller.quorum.bootstrap.servers": None, "controller.quorum.voters": voters}
        return jvm.properties(f"kafka-{number + 1}", changes, PORT=port, CONTROLLER_PORT=controller, DATA=self.data(number))


def _identity():
    # The tool takes an id with a hyphen in front for an option.
    return "A" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:21] + "A"
