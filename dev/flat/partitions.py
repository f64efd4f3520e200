"""The same records in topics of 1 to 200 partitions."""

import os

from trial.product import say

from . import limits
from .trial import run

MAKER = "`make flat`: partitions"
ROWS = int(os.environ.get("ROWS") or "1000000")
COUNTS = (1, 12, 50, 200)


def measure(binary):
    """By number of partitions the cost."""
    found = {}
    for count in COUNTS:
        say(f"{count} partitions")
        found[count] = run(binary, "--rows", str(ROWS), "--mix", "e2=1", partitions=count)
    return found


def table(found, verdict, conditions):
    """CPU a row beside that of one partition."""
    lines = [
        f"{ROWS:,} records of epoch 2 through Kafka and `run`; CPU of all of its threads, start and end taken off; {conditions}.",
        "",
        "| partitions | CPU µs a row | ratio | may be | rows/s | peak MiB |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    first = found[COUNTS[0]]
    for count, cost in found.items():
        ratio = verdict.check(f"CPU at {count} partitions", (cost.cpu / cost.rows) / (first.cpu / first.rows), limits.PARTITIONS)
        peak = verdict.memory(f"{count} partitions", cost.peak)
        speed = cost.rows / cost.seconds
        lines.append(f"| {count} | {cost.cpu / cost.rows * 1e6:.2f} | {ratio} | {limits.PARTITIONS:g} | {speed:,.0f} | {peak} |")
    return "\n".join(lines)
