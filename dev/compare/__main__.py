"""`python3 -m compare BINARY`, with the addresses of the services in the environment and ClickHouse started here.

ROWS says how many records, PASSES how often everything is done; what is told of either way is of the pass that took it the least
CPU, as others on the machine can only make it worse.
"""

import json
import os
import subprocess
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from trial import clickhouse, content
from trial.command import measure
from trial.memory import peak_bytes
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
    with tempfile.TemporaryDirectory() as folder, ExitStack() as kept:
        fleet = Path(folder) / "fleet.bin"
        figures = []
        for number in range(1, PASSES + 1):
            say(f"pass {number} of {PASSES}")
            # Each side has a database of its own, and none is removed before all is done: on ext4 without a journal creating
            # files costs more for minutes after others were removed, and the side that is measured later would pay for it.
            product = kept.enter_context(Product(binary, f"compare_{number}"))
            beside = kept.enter_context(Product(binary, f"alone_{number}"))
            product.create()
            beside.create()
            alone = Alone(beside.name)
            alone.create()
            if not figures:
                product.generate("--out", str(fleet), *FLEET)
            product.generate(*FLEET)
            ours = _ours(product, server)
            # A message of this many records becomes as many parts, of as many rows, as a batch of xtcp-ingest did.
            ours["block"] = ROWS * len(EPOCHS) // ours["parts"]
            messages = lambda: merged(frames(fleet.read_bytes()), ours["block"])  # noqa: E731
            figures.append(
                {
                    "ours": ours,
                    "bench": _bench(binary, fleet),
                    "parser": _insert(alone, "parsed", messages(), server)["server"],
                    "alone": _alone(alone, messages(), beside.name, server),
                }
            )
    print(report(figures, ROWS, page))


def _bench(binary, fleet):
    done = subprocess.run([binary, "bench", str(fleet), "--json", "--seconds", "6"], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def _insert(alone, table, messages, server):
    before, seconds = cpu_seconds(server), 0.0
    for message, _ in messages:
        start = time.monotonic()
        alone.insert(table, message)
        seconds += time.monotonic() - start
    return {"seconds": seconds, "server": cpu_seconds(server) - before}


def _alone(alone, messages, database, server):
    _begin(server)
    before = cpu_seconds(server)
    seconds = _insert(alone, "landing", messages, server)["seconds"]
    return {"seconds": seconds, **_end(database, server, before)}


def _ours(product, server):
    watched = Watched()
    _begin(server)
    before = cpu_seconds(server)
    seconds = product.run(watch=watched.look)
    fetches = lambda name: name.startswith("rdk:")  # noqa: E731
    return {
        "seconds": seconds,
        **_end(product.name, server, before),
        "process": watched.seconds(lambda name: not fetches(name)),
        "fetching": watched.seconds(fetches),
        "peak": watched.peak,
    }


def _begin(server):
    """Both ways begin with a server that has given back what it could of the memory it used before."""
    clickhouse.execute("SYSTEM JEMALLOC PURGE")
    processes.forget_peak(server)


def _end(database, server, before):
    """What the server used until all was merged; both ways must have done the whole work."""
    placed = sum(content.placed(database, EPOCHS.values()).values())
    if placed != ROWS:
        raise Trouble(f"{placed:,} of {ROWS:,} rows are in the tables")
    clickhouse.settle(database)
    used = {"server": cpu_seconds(server) - before, "server_peak": peak_bytes(server)}
    return {**used, "parts": _parts(database)}


def _parts(database):
    clickhouse.execute("SYSTEM FLUSH LOGS")
    # The tables of the records alone: creating the objects leaves parts in others.
    tables = ", ".join(f"'{table}'" for table in EPOCHS.values())
    sql = (
        f"SELECT count() AS n FROM system.part_log "
        f"WHERE database = '{database}' AND table IN ({tables}) AND event_type = 'NewPart'"
    )
    return clickhouse.rows(sql)[0]["n"]


measure("compare", compare)
