"""Keeps what explains a failed run."""

import json
import shutil

from stack import paths

FAILED = paths.MADE / "failed"


def keep(world, outcome):
    """Logs, timeline, what is wrong and the topic itself; gives the folder."""
    folder = FAILED / str(world.plan.seed)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    names = ["generate", "reference", "clickhouse", "clickhouse-engine"]
    names += [f"kafka-{number + 1}" for number in range(len(world.brokers))]
    for log in [*world.logs(), *(paths.log(name) for name in names)]:
        if log.exists():
            shutil.copy(log, folder)
    (folder / "timeline.txt").write_text(world.timeline.text())
    (folder / "verdict.txt").write_text(outcome.text())
    (folder / "offenders.json").write_text("".join(json.dumps(each) + "\n" for each in outcome.verdict.offenders))
    (folder / "offsets.json").write_text(json.dumps({"committed": outcome.committed, "ends": outcome.ends}, indent=1))
    for number in range(len(world.brokers)):
        for partition in world.brokers.data(number).glob(f"{world.topic}-*"):
            shutil.copytree(partition, folder / "topic" / f"broker-{number + 1}" / partition.name)
    return folder
