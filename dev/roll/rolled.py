"""A rolling restart of several processes while records are being sent, and what partitions and rows felt of it."""

import contextlib
import threading
import time

from latency import parts
from latency.kafka_log import timestamps
from latency.spread import quantile, waits
from latency.stream import ENVELOPE, FIRST_ROWS, PARTITIONS, TABLE, Stream
from stack import paths
from trial import clickhouse
from trial.product import Product
from trial.trouble import Trouble

PROCESSES = 3
# Until the first restart, between two, and after the last.
PAUSE_SECONDS = 12.0
# Members come one after the other, and each time partitions change hands.
FORMED_SECONDS = 15.0
_PATIENCE = 120


class Rolled:
    """One roll with the properties of one protocol of Kafka's groups."""

    def __init__(self, binary, rate, properties, static):
        self._binary = binary
        self._rate = rate
        self._properties = properties
        self._static = static

    def measure(self, restarts):
        """The longest that a partition showed nothing new, and how long rows took until they could be read."""
        with contextlib.ExitStack() as stack:
            self._product = stack.enter_context(Product(self._binary, "roll"))
            self._product.create()
            self._stream = Stream(self._product, _PATIENCE)
            parts.keep_numbers(self._stream.table)
            members = [self._start(number) for number in range(PROCESSES)]
            stack.callback(lambda: [_end(member) for member in members])
            # A group that forms is not what is measured.
            self._stream.send(FIRST_ROWS)
            self._stream.wait()
            time.sleep(FORMED_SECONDS)
            rows = round(self._rate * PAUSE_SECONDS * (PROCESSES + 1) / ENVELOPE) * ENVELOPE
            sender = threading.Thread(target=self._stream.send, args=(rows, self._rate))
            sender.start()
            for number in range(PROCESSES):
                time.sleep(PAUSE_SECONDS)
                if restarts:
                    _end(members[number])
                    members[number] = self._start(number)
            sender.join()
            self._stream.wait()
            return self._found()

    def _start(self, number):
        properties = [*self._properties, *([f"group.instance.id=member-{number}"] if self._static else [])]
        return self._product.start(*(argument for name in properties for argument in ("--kafka-property", name)))

    def _found(self):
        rows, table = self._stream.rows, self._stream.table
        counts = clickhouse.rows(f"SELECT count() AS n, uniqExact(inet_diag_msg_socket_cookie) AS one FROM {table}")[0]
        if (counts["n"], counts["one"]) != (rows, rows):
            raise Trouble(f"{rows:,} rows were sent; {counts['n']:,} are there, of which {counts['one']:,} differ")
        visible = parts.visible(self._product.name, TABLE)
        brought = parts.brought(table, ENVELOPE)
        sent = timestamps(paths.MADE / "kafka", self._product.name, PARTITIONS)
        # The generator begins anew with its first partition each time, and the first call sent one message to each.
        found = waits(sent, visible, brought, PARTITIONS)
        return {
            "rows": rows,
            "standstill": max(standstills(visible, brought).values()),
            "p50": quantile(found, 0.5),
            "p99": quantile(found, 0.99),
            "longest": max(seconds for seconds, _ in found),
        }


def standstills(visible, brought):
    """By partition the longest time between two parts of its rows; the first message of each doesn't count."""
    times = {}
    for block, message, _ in brought:
        if message >= PARTITIONS:
            times.setdefault(message % PARTITIONS, set()).add(visible[block])
    gaps = {}
    for partition, found in times.items():
        ordered = sorted(found)
        gaps[partition] = max((after - before for before, after in zip(ordered, ordered[1:])), default=0.0)
    return gaps


def _end(member):
    member.terminate()
    if member.wait(_PATIENCE):
        raise Trouble(f"`xtcp-ingest run` ended with {member.returncode}")
