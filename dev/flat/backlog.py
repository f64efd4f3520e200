"""The peak of memory for a small backlog and for a large one."""

import os

from trial.product import say

from . import limits
from .trial import run

MAKER = "`make flat`: backlog"
GIGABYTES = [float(size) for size in (os.environ.get("GIGABYTES") or "1,4").split(",")]
_RECORD_BYTES = 893


def measure(binary):
    """By size the cost."""
    found = {}
    for size in GIGABYTES:
        say(f"a backlog of {size:g} GB")
        found[size] = run(binary, "--rows", str(int(size * 1e9 / _RECORD_BYTES)))
    return found


def table(found, verdict, conditions):
    """Peaks beside that of the smallest."""
    lines = [
        f"Records of all layouts, 12 partitions, through Kafka and `run`; {conditions}.",
        "",
        "| backlog | rows | peak MiB | ratio | may be | rows/s |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    first = found[GIGABYTES[0]]
    for size, cost in found.items():
        ratio = verdict.check(f"memory for {size:g} GB", cost.peak / first.peak, limits.BACKLOG_MEMORY)
        peak = verdict.memory(f"{size:g} GB", cost.peak)
        lines.append(
            f"| {cost.bytes / 1e9:.1f} GB | {cost.rows:,} | {peak} | {ratio} | {limits.BACKLOG_MEMORY:g} | "
            f"{cost.rows / cost.seconds:,.0f} |"
        )
    return "\n".join(lines)
