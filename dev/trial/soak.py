"""`soak`: how much memory `run` takes at its defaults for a backlog of gigabytes, with ClickHouse away in the middle."""

import contextlib
import os
import tempfile
from pathlib import Path

from . import content
from .definitions import with_partitions
from .memory import Peak
from .outage import Outage
from .product import Product, say
from .table import Table
from .trouble import Trouble

# 893 bytes each.
ROWS = int(os.environ.get("ROWS") or "2300000")
PARTITIONS = os.environ.get("PARTITIONS") or "12"
# Records of an envelope; one of 10 000 has 9 MB.
ENVELOPE = os.environ.get("ENVELOPE") or "1..10000"
ENVELOPE_BYTES = 12 << 20
# Seconds; none for 0.
OUTAGE = float(os.environ.get("OUTAGE") or "120")
LIMIT_MIB = 512


def soak(binary):
    """Raises `Trouble` when the peak is over the limit or a count is not exact."""
    with tempfile.TemporaryDirectory() as folder, Product(binary, "soak") as product:
        product.define(with_partitions(PARTITIONS, Path(folder) / "ddl"))
        product.create()
        say(f"sending {ROWS:,} records to {PARTITIONS} partitions, {ENVELOPE} in an envelope")
        shape = ("--envelope", ENVELOPE, "--envelope-bytes", str(ENVELOPE_BYTES))
        sent = product.generate("--rows", str(ROWS), "--hosts", "500", "--sockets", "20000", *shape,
                                "--faults", "all=100", "--oddities", "all=100")
        say(f"ingesting until caught up, ClickHouse away for {OUTAGE:.0f} s in the middle")
        peak = Peak()
        with contextlib.ExitStack() as stack:
            outage = None
            if OUTAGE:
                outage = stack.enter_context(Outage(os.environ["XTCP_INGEST_CLICKHOUSE_URL"], OUTAGE))
                product.reach(outage.url)
            seconds = product.run(watch=peak.look)
        found, reasons = content.placed(product.name, sent["rows"]), content.diverted(product.name)
    table = Table("", "sent", "in ClickHouse")
    for name, rows in sent["rows"].items():
        table.add(name, rows, found[name])
    table.add("diverted", sum(sent["diverted"].values()), sum(reasons.values()))
    table.print()
    mib = peak.bytes / (1 << 20)
    speed = sum(sent["rows"].values()) / (seconds - OUTAGE)
    print(f"\n{sent['bytes'] / 1e9:.2f} GB in {sent['messages']:,} messages, {PARTITIONS} partitions: "
          f"peak {mib:.0f} MiB, {speed:,.0f} rows/s but for the outage, {peak.cpu:.1f} s of CPU")
    if outage and not outage.was_over:
        raise Trouble("ClickHouse was not away and back: too little was sent for that")
    if table.wrong:
        raise Trouble(f"{table.wrong} lines are not exact")
    if mib > LIMIT_MIB:
        raise Trouble(f"the peak is over {LIMIT_MIB} MiB")
