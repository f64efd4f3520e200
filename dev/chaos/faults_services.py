"""Faults of Kafka and ClickHouse themselves."""

import time

from . import modes
from .missed import Missed
from .moment import at

_SECONDS = 6
_CODE_TOO_MANY_PARTS = 252


def kill_clickhouse(world, dice):
    """kill -9 of ClickHouse while an insert is under way, and a restart."""
    stage, pause = dice.choice([modes.BODY, modes.SENT, modes.SENT, modes.ANSWERED]), dice.choice([0, 0.5, 2])
    under_way = []

    def action(_):
        under_way.append(world.traffic.under_way())
        world.front.kill()
        world.timeline.event("clickhouse", "is killed")

    try:
        request = at(world, stage, action)
        time.sleep(pause)
    finally:
        if under_way:
            world.front.restart()
            world.timeline.event("clickhouse", "is back")
    return f"killed, {request} {stage} and {under_way[0]} inserts under way; back after {pause} s and its start"


def too_many_parts(world, dice):
    """Tables take no more parts, by a real setting."""
    before, seconds = world.traffic.codes(_CODE_TOO_MANY_PARTS), dice.uniform(0.5, 2)
    tables = world.tables()
    if not tables:
        raise Missed("there are no tables yet")
    try:
        for table in tables:
            world.clickhouse.execute(f"ALTER TABLE {table} MODIFY SETTING parts_to_throw_insert = 1")
        time.sleep(seconds)
        hit = world.traffic.wait(lambda: world.traffic.codes(_CODE_TOO_MANY_PARTS) > before, _SECONDS)
    finally:
        for table in tables:
            world.clickhouse.execute(f"ALTER TABLE {table} RESET SETTING parts_to_throw_insert")
    if not hit:
        raise Missed("no insert was refused")
    return f"the server refused {world.traffic.codes(_CODE_TOO_MANY_PARTS) - before} inserts in {seconds:.1f} s"


def kill_broker(world, dice):
    """kill -9 of the only broker between an insert's answer and its commit, and a restart."""
    return _kill_broker(world, dice, lambda: 0, "the broker")


def kill_leader(world, dice):
    """kill -9 of the leader of a partition, or of the group's coordinator, and a restart."""

    def leader():
        return world.brokers.number_at(dice.choice(sorted(world.kafka.leaders(world.topic).values())))

    def coordinator():
        return world.brokers.number_at(world.kafka.coordinator(world.group))

    which = dice.choice(["leader", "leader", "coordinator"])
    return _kill_broker(world, dice, leader if which == "leader" else coordinator, f"a {which}")


def _kill_broker(world, dice, choose, what):
    stage, pause = dice.choice([modes.SENT, modes.ANSWERED, modes.TOLD]), dice.choice([0, 1, 3])
    number, killed = choose(), []

    def action(_):
        killed.append(number)
        world.brokers.kill(number)
        world.timeline.event("broker", f"{number + 1} is killed")

    try:
        request = at(world, stage, action)
        time.sleep(pause)
    finally:
        if killed:
            world.brokers.restart(number)
            world.timeline.event("broker", f"{number + 1} is back")
    return f"{what} ({number + 1}) killed, {request} {stage}; back after {pause} s and its start"
