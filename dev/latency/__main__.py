"""`python3 -m latency BINARY PAGE`, with the addresses of the services in the environment and both started here.

ROWS, SECONDS, BACKLOG_GB and AGES set other sizes: the rows of the sustained rate, the seconds of each latency, the backlog, and
settings of `batch.age` with commas between, the one that shares refer to first.
"""

import os

import page as pages
from stack.process import Process
from trial import clickhouse
from trial.command import measure
from trial.product import say
from trial.trouble import Trouble

from . import report
from .measured import Measured, catch_up

ROWS = int(os.environ.get("ROWS") or "1200000")
SECONDS = float(os.environ.get("SECONDS") or "30")
BACKLOG_GB = float(os.environ.get("BACKLOG_GB") or "2")
AGES = (os.environ.get("AGES") or "1s,200ms,5s").split(",")
SHARES = (10, 50, 90)
WARM_SECONDS = 8.0
_RECORD_BYTES = 893


def latency(binary, page):
    """Measures everything and writes the tables."""
    for service in ("kafka", "clickhouse"):
        if Process.load(service) is None:
            raise Trouble(f"the times of {service} can only be read where the stack runs it: unset XTCP_INGEST_KAFKA_BROKERS "
                          "and XTCP_INGEST_CLICKHOUSE_URL")
    say(f"a backlog of {BACKLOG_GB:g} GB")
    figures = {"backlog": catch_up(binary, int(BACKLOG_GB * 1e9 / _RECORD_BYTES)), "ages": {}, "reference": AGES[0]}
    for age in AGES:
        with Measured(binary, age) as measured:
            say(f"batch.age {age}: as fast as it goes")
            figures["ages"][age] = {"sustained": measured.sustained(ROWS), "at": {}}
        capacity = figures["ages"][AGES[0]]["sustained"]
        for share in SHARES:
            rate = capacity * share / 100
            say(f"batch.age {age}: {share} % of {capacity:,.0f} rows/s")
            with Measured(binary, age) as measured:
                found = measured.latency(rate, SECONDS, WARM_SECONDS)
            if found["rate"] < 0.95 * rate:
                say(f"only {found['rate']:,.0f} of {rate:,.0f} rows/s could be sent")
            figures["ages"][age]["at"][share] = found
    sizes = {"rows": ROWS, "seconds": SECONDS, "warm": WARM_SECONDS}
    table = report.table(figures, sizes, pages.conditions(clickhouse.data()))
    pages.put(page, report.MAKER, table)
    print(table)


os.environ.setdefault("XTCP_INGEST_LOG", "warn")
measure("latency", latency)
