"""Kafka and ClickHouse of the harness's own, kept from run to run."""

import hashlib
import json
import threading

from stack import paths
from stack.ports import is_free
from stack.process import Process
from stack.say import line

from .brokers import Brokers
from .front import Front
from .kafka_client import KafkaClient

_DOWNLOADS = ("venv", "kafka-libs")


class Services:
    """Started with one broker or three."""

    def __init__(self, brokers):
        ports = _free_ports()
        kafka = [next(ports) for _ in range(brokers)]
        self.brokers = Brokers(kafka, [next(ports) for _ in range(brokers)])
        self.front = Front(next(ports))
        self.kafka = KafkaClient(kafka)

    def start(self):
        """Both, side by side."""
        line("chaos", f"starting Kafka ({len(self.brokers)} brokers) and ClickHouse of the harness's own")
        failures = []

        def front():
            try:
                self.front.start_new()
            except Exception as error:
                failures.append(error)

        thread = threading.Thread(target=front)
        thread.start()
        self.brokers.start_all()
        thread.join()
        for failure in failures:
            raise failure

    def stop(self):
        """Both; their data is of no further use."""
        self.brokers.stop()
        self.front.stop()


def _free_ports():
    """Each folder begins elsewhere: a port must stay free while the service on it is killed and not yet restarted."""
    digest = hashlib.sha256(str(paths.MADE).encode()).digest()
    first = 20_000 + 100 * (int.from_bytes(digest[:4], "big") % 100)
    return (port for port in range(first, first + 1000) if is_free(port))


def prepare():
    """Folders, the downloads of the local stack beside this one, and an end to what a killed harness left running."""
    paths.LOGS.mkdir(parents=True, exist_ok=True)
    paths.RUNNING.mkdir(parents=True, exist_ok=True)
    for name in _DOWNLOADS:
        link = paths.MADE / name
        if not link.is_symlink():
            link.symlink_to(paths.MADE.parent / name)
    for record in sorted(paths.RUNNING.glob("*.json")):
        try:
            left = Process.load(record.stem)
        except json.JSONDecodeError:
            record.unlink()
            continue
        if left:
            line("chaos", f"ending {record.stem} (pid {left.pid}), left by an earlier harness")
            left.stop(0)
