"""`demo`: a mixed fleet with every fault, sent and ingested; every count and every value must be exact."""

import os

from . import content
from .product import Product, say
from .table import Table
from .trouble import Trouble

ROWS = os.environ.get("DEMO_ROWS", "250000")
# Of each kind.
MISHAPS = "all=20"


def demo(binary):
    """Prints one table; raises `Trouble` when a line of it is wrong."""
    with Product(binary, "demo") as product:
        say("creating the tables and the topic")
        product.create()
        say(f"sending {int(ROWS):,} records of every layout, and every fault")
        sent = product.generate("--rows", ROWS, "--faults", MISHAPS, "--oddities", MISHAPS, "--checksums")
        say("ingesting until caught up")
        seconds = product.run()
        say("comparing")
        table = _compare(sent, product.name)
    table.print()
    rows = sum(sent["rows"].values())
    print(f"\n{rows:,} rows of {sent['bytes'] / 1e6:,.0f} MB placed in {seconds:.1f} s, start and end included")
    if table.wrong:
        raise Trouble(f"{table.wrong} lines are not exact")
    print("every count and every value is exact")


def _compare(sent, database):
    found, reasons = content.placed(database, sent["rows"]), content.diverted(database)
    table = Table("", "sent", "in ClickHouse")
    table.section("placed, rows")
    for name, rows in sent["rows"].items():
        table.add(name, rows, found[name])
    table.section("diverted, pieces")
    for reason in sorted({*sent["diverted"], *reasons}):
        table.add(reason, sent["diverted"].get(reason, 0), reasons.get(reason, 0))
    table.section("published, rows and pieces in all")
    published = sum(sent["rows"].values()) + sum(sent["diverted"].values())
    table.add("all", published, sum(found.values()) + sum(reasons.values()))
    table.section("content, columns whose checksum over all rows is the same")
    for name, expected in sent["checksums"].items():
        sums = content.checksums(database, name)
        same = sum(1 for column in {*expected, *sums} if expected.get(column) == sums.get(column))
        table.add(name, len(expected), same)
    return table
