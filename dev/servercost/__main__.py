"""`python -m servercost BINARY PAGE`, with the addresses of the services in the environment and ClickHouse started here.

ROWS says how many rows each figure stands on, PASSES how often it is taken; the least counts, as others on the machine can only
make it worse.
"""

import os
import time

import page as pages
from compare import processes
from compare.alone import NEWEST
from trial.command import measure
from trial.product import Product, say
from trial.trouble import Trouble

from . import tables
from .material import Meter, arrange

ROWS = int(os.environ.get("ROWS", "262144"))
PASSES = int(os.environ.get("PASSES", "2"))


def study(binary, page):
    """Measures everything and writes the tables into the page."""
    server = processes.server()
    if ROWS < 262144:
        raise Trouble(f"ROWS={ROWS} is less than one insert of the largest size, 262144 rows")
    with Product(binary, "servercost") as product:
        product.create()
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        product.generate("--rows", str(ROWS), "--mix", f"e{NEWEST}=1", "--now", now, "--seed", "7")
        product.run()
        arrange(product.name)
        meter = Meter(server, product.name)
        lines = [f"{ROWS:,} rows of epoch {NEWEST} for each figure, the least of {PASSES} passes; {pages.conditions()}.", ""]
        for what in (tables.sizes, tables.bodies, tables.definitions):
            say(what.__doc__)
            lines += [*what(meter, product.name, ROWS, PASSES), ""]
    text = "\n".join(lines).rstrip()
    print(text)
    pages.put(page, "`make server-cost`", text)


measure("servercost", study)
