"""One run of the product on a topic and a database of its own, while records are being sent."""

import contextlib
import time
from collections import Counter

from stack import paths
from trial import clickhouse
from trial.product import Product
from trial.trouble import Trouble

from .kafka_log import timestamps
from .spread import quantile, waits

TABLE = "xtcp_flat_records_v2"
# As the definitions have it; a message to each shows that the process is at work.
PARTITIONS = 12
ENVELOPE = 100
_WARM_ROWS = PARTITIONS * ENVELOPE
# How long anything may take that is not measured.
_PATIENCE = 300


class Measured:
    """Sends through a running `run` and looks at what came of it."""

    def __init__(self, binary, age):
        self._product = Product(binary, "latency")
        self._age = age
        self._rows = 0

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
        # Each row then keeps the number of the part that brought it, through all merges.
        clickhouse.execute(f"ALTER TABLE {self._table} MODIFY SETTING enable_block_number_column = 1")
        self._child = self._product.start(XTCP_INGEST_BATCH_AGE=self._age, XTCP_INGEST_LOG="warn")
        self._send(_WARM_ROWS)
        self._wait()

    @property
    def _table(self):
        return f"{self._product.name}.{TABLE}"

    def sustained(self, rows):
        """Sends as fast as it goes; rows a second from the first message's timestamp until the last row can be read."""
        self._send(rows)
        self._wait()
        sent, visible = self._sent(), self._visible()
        seconds = max(visible.values()) - min(times[1] for times in sent)
        return rows / seconds

    def latency(self, rate, seconds, warm):
        """Sends at a rate; the first `warm` seconds don't count."""
        rows = max(round(rate * (seconds + warm) / ENVELOPE), 1) * ENVELOPE
        start = time.monotonic()
        self._send(rows, "--rate", str(rate))
        took = time.monotonic() - start
        self._wait()
        visible = self._visible()
        sql = f"SELECT _block_number AS block, intDiv(inet_diag_msg_socket_cookie - 1, {ENVELOPE}) AS message, count() AS n " \
              f"FROM {self._table} GROUP BY block, message"
        brought = [(row["block"], row["message"], row["n"]) for row in clickhouse.rows(sql)]
        self._must_be_whole(brought)
        found = waits(self._sent(), visible, brought, PARTITIONS + int(rate * warm / ENVELOPE))
        return {
            "rate": rows / took,
            "p50": quantile(found, 0.5),
            "p99": quantile(found, 0.99),
            "parts": len(visible) / took,
        }

    def _send(self, rows, *more):
        self._product.generate("--rows", str(rows), "--mix", "e2=1", "--mixed-every", "0", "--envelope", str(ENVELOPE),
                               "--first-cookie", str(self._rows + 1), *more)
        self._rows += rows

    def _wait(self):
        """Until all that was sent can be read."""
        end = time.monotonic() + _PATIENCE
        while (found := clickhouse.rows(f"SELECT count() AS n FROM {self._table}")[0]["n"]) < self._rows:
            if self._child.poll() is not None:
                raise Trouble(f"`xtcp-ingest run` ended with {self._child.returncode}")
            if time.monotonic() > end:
                raise Trouble(f"{found:,} of {self._rows:,} rows after {_PATIENCE} s")
            time.sleep(0.2)

    def _visible(self):
        """By block number: when its part was there, by the server's clock, which is this machine's."""
        return {row["block"]: row["at"] / 1e6 for row in self._parts()}

    def _parts(self):
        clickhouse.execute("SYSTEM FLUSH LOGS")
        return clickhouse.rows(
            "SELECT toUInt64(splitByChar('_', part_name)[2]) AS block, rows, "
            "toUnixTimestamp64Micro(event_time_microseconds) AS at "
            f"FROM system.part_log WHERE database = '{self._product.name}' AND table = '{TABLE}' "
            "AND event_type = 'NewPart' AND error = 0"
        )

    def _must_be_whole(self, brought):
        """The rows that say they came with a part are as many as the part had when it was new."""
        found = Counter()
        for block, _, rows in brought:
            found[block] += rows
        if found != {part["block"]: part["rows"] for part in self._parts()}:
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
