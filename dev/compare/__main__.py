"""`python3 -m compare BINARY`, with the addresses of the services in the environment and ClickHouse started here.

ROWS says how many records, PASSES how often everything is done; of each figure the least is taken, as others on the machine
can only make it worse.
"""

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from trial import clickhouse, content
from trial.command import measure
from trial.product import Product, say
from trial.trouble import Trouble

from . import processes
from .alone import BEFORE, EPOCHS, NEWEST, Alone
from .frames import frames, merged
from .processes import Watched, cpu_seconds
from .report import report

ROWS = int(os.environ.get("ROWS", "1500000"))
PASSES = int(os.environ.get("PASSES", "2"))
# The same records each time: those of now, since old ones would be removed by their tables' TTL while all is measured.
NOW = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
# An envelope is one daemon's.
FLEET = ["--rows", str(ROWS), "--mix", f"e{NEWEST}=60,e{BEFORE}=40", "--mixed-every", "0", "--now", NOW, "--seed", "7"]


def compare(binary, page):
    """Measures both ways and writes the table into `page`."""
    server = processes.server()
    with tempfile.TemporaryDirectory() as folder, Product(binary, "compare") as product:
        product.create()
        alone = Alone(product.name)
        alone.create()
        fleet = Path(folder) / "fleet.bin"
        product.generate("--out", str(fleet), *FLEET)
        product.generate(*FLEET)
        figures = []
        for number in range(PASSES):
            say(f"pass {number + 1} of {PASSES}")
            ours = _ours(product, server, number)
            # A message of this many records becomes as many parts, of as many rows, as a batch of xtcp-ingest did.
            block = ROWS * len(EPOCHS) // ours["parts"]
            messages = merged(frames(fleet.read_bytes()), block)
            figures.append(
                {
                    "ours": ours,
                    "block": block,
                    "bench": _bench(binary, fleet),
                    "alone": _alone(alone, "landing", messages, product.name, server),
                }
            )
        # Once is enough of what is no part of the whole way.
        messages = merged(frames(fleet.read_bytes()), block)
        parser = _alone(alone, "parsed", messages, product.name, server)
    print(report(figures, parser, ROWS, page))


def _bench(binary, fleet):
    done = subprocess.run([binary, "bench", str(fleet), "--json", "--seconds", "6"], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def _alone(alone, table, messages, database, server):
    _empty(database)
    before, seconds = cpu_seconds(server), 0.0
    for message, _ in messages:
        start = time.monotonic()
        alone.insert(table, message)
        seconds += time.monotonic() - start
    if table == "landing":
        _must_hold(database)
    clickhouse.settle(database)
    return {"seconds": seconds, "server": cpu_seconds(server) - before, "parts": _parts(database)}


def _ours(product, server, number):
    _empty(product.name)
    watched = Watched()
    before = cpu_seconds(server)
    seconds = product.run(watch=watched.look, group=f"{product.name}_{number}")
    _must_hold(product.name)
    clickhouse.settle(product.name)
    fetches = lambda name: name.startswith("rdk:")  # noqa: E731
    return {
        "seconds": seconds,
        "server": cpu_seconds(server) - before,
        "process": watched.seconds(lambda name: not fetches(name)),
        "fetching": watched.seconds(fetches),
        "peak": watched.peak,
        "parts": _parts(product.name),
    }


def _empty(database):
    for table in [*EPOCHS.values(), "xtcp_flat_records_errors"]:
        clickhouse.execute(f"TRUNCATE TABLE {database}.{table} SYNC")
    clickhouse.execute("SYSTEM FLUSH LOGS")
    clickhouse.execute("TRUNCATE TABLE IF EXISTS system.part_log")


def _must_hold(database):
    """Both ways must have done the whole work."""
    placed = sum(content.placed(database, EPOCHS.values()).values())
    if placed != ROWS:
        raise Trouble(f"{placed:,} of {ROWS:,} rows are in the tables")


def _parts(database):
    clickhouse.execute("SYSTEM FLUSH LOGS")
    sql = f"SELECT count() AS n FROM system.part_log WHERE database = '{database}' AND event_type = 'NewPart'"
    return clickhouse.rows(sql)[0]["n"]


measure("compare", compare)
