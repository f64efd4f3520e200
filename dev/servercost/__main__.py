"""`python -m servercost BINARY PAGE`, with the addresses of the services in the environment and ClickHouse started here.

ROWS says how many rows there are to insert, which limits the largest insert; PASSES how often each figure is taken.
"""

import os
import time

import page as pages
from compare import processes
from compare.alone import NEWEST
from trial import clickhouse
from trial.command import measure
from trial.product import Product, say
from trial.trouble import Trouble

from . import tables
from .material import Meter, arrange

ROWS = int(os.environ.get("ROWS", "1048576"))
PASSES = int(os.environ.get("PASSES", "5"))


def study(binary, page):
    """Measures everything and writes the tables into the page."""
    server = processes.server()
    if ROWS < tables.INSERT:
        raise Trouble(f"ROWS={ROWS} is less than one insert of {tables.INSERT:,} rows")
    with Product(binary, "servercost") as product:
        product.create()
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        product.generate("--rows", str(ROWS), "--mix", f"e{NEWEST}=1", "--now", now, "--seed", "7")
        product.run()
        arrange(product.name)
        meter = Meter(server, product.name)
        lines = [
            f"Rows of epoch {NEWEST}; CPU µs a row, the median of {PASSES} rounds that do each case of a table once, in turn; "
            f"ratios to the first line, the median of those within each round; {pages.conditions(clickhouse.data())}.",
            "",
        ]
        for what in (tables.sizes, tables.bodies, tables.definitions):
            say(what.__doc__)
            lines += [*what(meter, product.name, ROWS, PASSES), ""]
    text = "\n".join(lines).rstrip()
    print(text)
    pages.put(page, "`make server-cost`", text)


measure("servercost", study)
