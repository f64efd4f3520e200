"""`python3 -m roll BINARY PAGE`, with the addresses of the services in the environment and both started here.

RATE sets another rate, in rows a second.
"""

import os

import page as pages
from latency.stream import PARTITIONS
from stack.process import Process
from trial.command import measure
from trial.product import say
from trial.trouble import Trouble

from .rolled import PAUSE_SECONDS, PROCESSES, Rolled

RATE = float(os.environ.get("RATE") or "20000")
MAKER = "`make roll`"
# What a group is called, its properties, and whether its members have names.
GROUPS = [
    ("classic", [], False),
    ("classic, static members", [], True),
    ("`group.protocol=consumer`", ["group.protocol=consumer"], False),
]


def roll(binary, page):
    """Rolls with each protocol and writes the table."""
    if Process.load("kafka") is None:
        raise Trouble("the times of Kafka can only be read where the stack runs it: unset XTCP_INGEST_KAFKA_BROKERS")
    figures = []
    for name, properties, static in GROUPS:
        for restarts in (False, True):
            say(f"{name}, {'each process restarted' if restarts else 'left alone'}")
            figures.append((name, restarts, Rolled(binary, RATE, properties, static).measure(restarts)))
    table = _table(figures)
    pages.put(page, MAKER, table)
    print(table)


def _table(figures):
    lines = [
        f"{PROCESSES} processes, {PARTITIONS} partitions, {RATE:,.0f} rows/s, everything at its defaults; each process ended "
        f"by SIGTERM and started again at once, {PAUSE_SECONDS:.0f} s after the one before. {pages.conditions()}. Every "
        "row was there once.",
        "",
        "| group | restarted | longest that any partition showed no new rows | p50, p99 from Kafka to readable | longest |",
        "|---|---|---:|---:|---:|",
    ]
    for name, restarts, found in figures:
        lines.append(
            f"| {name} | {'each' if restarts else 'none'} | {found['standstill']:.1f} s | "
            f"{found['p50']:.2f} s, {found['p99']:.2f} s | {found['longest']:.1f} s |"
        )
    return "\n".join(lines)


os.environ.setdefault("XTCP_INGEST_LOG", "warn")
measure("roll", roll)
