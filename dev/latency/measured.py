"""One run of the product on a topic and a database of its own, while records are being sent."""

import contextlib
import time
from collections import Counter

from stack import paths
from trial import clickhouse
from trial.product import Product
from trial.trouble import Trouble

from . import parts
from .kafka_log import timestamps
from .spread import quantile, waits
from .stream import ENVELOPE, FIRST_ROWS, PARTITIONS, TABLE, Stream

# How long anything may take that is not measured.
_PATIENCE = 300


class Measured:
    """Sends through a running `run` and looks at what came of it."""

    def __init__(self, binary, age):
        self._product = Product(binary, "latency")
        self._age = age
        self._stream = Stream(self._product, _PATIENCE, self._must_run)

    def __enter__(self):
        self._product.__enter__()
        try:
            self._begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        with contextlib.suppress(AttributeError):
            self._child.terminate()
            self._child.wait(60)
        self._product.__exit__()

    def _begin(self):
        self._product.create()
        parts.keep_numbers(self._stream.table)
        self._child = self._product.start(XTCP_INGEST_BATCH_AGE=self._age, XTCP_INGEST_LOG="warn")
        self._stream.send(FIRST_ROWS)
        self._stream.wait()

    def _must_run(self):
        if self._child.poll() is not None:
            raise Trouble(f"`xtcp-ingest run` ended with {self._child.returncode}")

    def sustained(self, rows):
        """Sends as fast as it goes; rows a second from the first message's timestamp until the last row can be read."""
        self._stream.send(rows)
        self._stream.wait()
        sent, visible = self._sent(), parts.visible(self._product.name, TABLE)
        seconds = max(visible.values()) - min(times[1] for times in sent)
        return rows / seconds

    def latency(self, rate, seconds, warm):
        """Sends at a rate; the first `warm` seconds don't count."""
        rows = max(round(rate * (seconds + warm) / ENVELOPE), 1) * ENVELOPE
        start = time.monotonic()
        self._stream.send(rows, rate)
        took = time.monotonic() - start
        self._stream.wait()
        visible = parts.visible(self._product.name, TABLE)
        brought = parts.brought(self._stream.table, ENVELOPE)
        self._must_be_whole(brought)
        found = waits(self._sent(), visible, brought, PARTITIONS + int(rate * warm / ENVELOPE))
        return {
            "rate": rows / took,
            "p50": quantile(found, 0.5),
            "p99": quantile(found, 0.99),
            "parts": len(visible) / took,
        }

    def _must_be_whole(self, brought):
        """The rows that say they came with a part are as many as the part had when it was new."""
        found = Counter()
        for block, _, rows in brought:
            found[block] += rows
        if found != {part["block"]: part["rows"] for part in parts.new_parts(self._product.name, TABLE)}:
            raise Trouble("rows and the parts that brought them do not agree: the times would be of other rows")

    def _sent(self):
        return timestamps(paths.MADE / "kafka", self._product.name, PARTITIONS)


def catch_up(binary, rows):
    """Rows a second of a backlog that lies there already, start and end included; and its bytes."""
    with Product(binary, "catchup") as product:
        product.create()
        sent = product.generate("--rows", str(rows))
        seconds = product.run()
        placed = sum(clickhouse.rows(f"SELECT count() AS n FROM {product.name}.{table}")[0]["n"] for table in sent["rows"])
    if placed != rows:
        raise Trouble(f"{placed:,} of {rows:,} rows are in the tables")
    return {"rows_per_second": rows / seconds, "bytes": sent["bytes"]}
