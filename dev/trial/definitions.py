"""The product's definitions, changed for a trial."""

import re
import shutil
from pathlib import Path

_DEFINITIONS = Path(__file__).resolve().parents[2] / "ddl"


def with_partitions(count, copy):
    """Writes them into the folder `copy`, which is made, with another number of partitions; gives the folder."""
    shutil.copytree(_DEFINITIONS, copy)
    topic = copy / "topics" / "landing.yaml"
    topic.write_text(re.sub(r"(partitions:) \d+", rf"\1 {count}", topic.read_text()))
    return copy
