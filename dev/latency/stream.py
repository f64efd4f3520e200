"""Rows that count up, in messages of equal size, and the wait until they can be read."""

import time

from trial import clickhouse
from trial.trouble import Trouble

TABLE = "xtcp_flat_records_v2"
# As the definitions have it; a message to each shows that a process is at work.
PARTITIONS = 12
ENVELOPE = 100
FIRST_ROWS = PARTITIONS * ENVELOPE


class Stream:
    """What is sent into the topic of a product."""

    def __init__(self, product, patience, look=lambda: None):
        """`look` is asked while rows are waited for, and raises if waiting is in vain."""
        self._product = product
        self._patience = patience
        self._look = look
        self.rows = 0

    @property
    def table(self):
        return f"{self._product.name}.{TABLE}"

    def send(self, rows, rate=None):
        """So many more, as fast as it goes or at a rate."""
        first, self.rows = self.rows + 1, self.rows + rows
        pace = [] if rate is None else ["--rate", str(rate)]
        self._product.generate("--rows", str(rows), "--mix", "e2=1", "--mixed-every", "0", "--envelope", str(ENVELOPE),
                               "--first-cookie", str(first), *pace)

    def wait(self):
        """Until all that was sent can be read."""
        end = time.monotonic() + self._patience
        while (found := clickhouse.rows(f"SELECT count() AS n FROM {self.table}")[0]["n"]) < self.rows:
            self._look()
            if time.monotonic() > end:
                raise Trouble(f"{found:,} of {self.rows:,} rows after {self._patience} s")
            time.sleep(0.2)
