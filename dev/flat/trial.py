"""One backlog through `run`, and what it cost."""

import tempfile
from pathlib import Path

from compare.processes import Watched
from stack.process import Process
from trial import content
from trial.definitions import with_partitions
from trial.product import Product
from trial.trouble import Trouble


class Cost:
    """What a run used."""

    def __init__(self, sent, seconds, watched):
        self.messages = sent["messages"]
        self.bytes = sent["bytes"]
        self.rows = sum(sent["rows"].values())
        self.pieces = sum(sent["diverted"].values())
        self.seconds = seconds
        self.peak = watched.peak
        # Of all threads, those of librdkafka included.
        self.cpu = watched.seconds(lambda name: True)


def run(binary, *fleet, partitions=12):
    """Sends such a fleet and has it ingested. What starting and ending takes by itself is taken off."""
    if Process.load("kafka") is None:
        raise Trouble("these trials make topics of their own: unset XTCP_INGEST_KAFKA_BROKERS")
    with tempfile.TemporaryDirectory() as folder, Product(binary, "flat") as product:
        product.define(with_partitions(partitions, Path(folder) / "ddl"))
        product.create()
        idle = Watched()
        idle_seconds = product.run(watch=idle.look)
        sent = product.generate(*fleet)
        watched = Watched()
        seconds = product.run(watch=watched.look)
        _must_hold(product.name, sent)
    cost = Cost(sent, seconds - idle_seconds, watched)
    cost.cpu -= idle.seconds(lambda name: True)
    return cost


def _must_hold(database, sent):
    """Every row and every piece, or the cost is of something else."""
    rows, pieces = content.placed(database, sent["rows"]), content.diverted(database)
    if rows != sent["rows"] or pieces != sent["diverted"]:
        raise Trouble(f"sent {sent['rows']} and {sent['diverted']}, found {rows} and {pieces}")
