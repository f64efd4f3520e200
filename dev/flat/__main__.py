"""`python3 -m flat BINARY PAGE`, with the addresses of the services in the environment and Kafka started here.

PARTS says which of them, with commas between: `core`, `floods`, `partitions`, `backlog`. Each writes a table of its own; sizes:
RECORDS and ROUNDS, PIECES, ROWS, GIGABYTES.
"""

import os

import page as pages
from trial.command import measure
from trial.trouble import Trouble

from . import backlog, floods, inside, partitions
from .limits import Verdict

PARTS = {"core": inside, "floods": floods, "partitions": partitions, "backlog": backlog}


def flat(binary, page):
    """Measures the chosen parts one by one, writes the table of each; raises `Trouble` when a cost is not flat."""
    chosen = [part.strip() for part in (os.environ.get("PARTS") or ",".join(PARTS)).split(",")]
    unknown = [name for name in chosen if name not in PARTS]
    if unknown:
        raise Trouble(f"there is no part `{unknown[0]}`; known are {', '.join(PARTS)}")
    verdict = Verdict()
    for name in chosen:
        part = PARTS[name]
        found = part.measure() if part is inside else part.measure(binary)
        table = part.table(found, verdict, pages.conditions())
        pages.put(page, part.MAKER, table)
        print(table + "\n", flush=True)
    if verdict.lines:
        raise Trouble("not flat:\n  " + "\n  ".join(verdict.lines))


os.environ.setdefault("XTCP_INGEST_LOG", "warn")
measure("flat", flat)
