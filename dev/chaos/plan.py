"""What a seed says: the settings of a run and its faults, in two tracks that go side by side."""

import random
from dataclasses import dataclass

# How often each kind is drawn, in each track.
PROCESSES = {
    "kill_ingest": 4,
    "late_insert": 2,
    "freeze_ingest": 3,
    "term_ingest": 2,
    "rebalance_storm": 1,
    "partition_added": 1,
}
SERVICES = {
    "kill_clickhouse": 2,
    "refused": 2,
    "slow_body": 2,
    "slow_answer": 2,
    "cut_body": 3,
    "lost_answer": 3,
    "read_only": 1,
    "memory_limit": 1,
    "too_many_parts": 1,
    "error_after_landing": 2,
    "kill_broker": 1,
}
# With three brokers the broker that is killed is a leader, and it is what the run is about.
THREE_BROKERS = {**SERVICES, "kill_broker": 0, "kill_leader": 8}
KINDS = [*PROCESSES, *SERVICES, "kill_leader"]
SCENARIOS = ["mixed", "leader", "refused_rows", *PROCESSES, *SERVICES]

# Faults of each track that a run begins with; more follow while too few have struck.
FIRST = 5
_ONCE = {"kill_broker": 1, "partition_added": 2, "rebalance_storm": 1, "kill_leader": 3}


@dataclass(frozen=True)
class Step:
    """One fault: how long after the one before, of which kind, and the dice for its details."""

    after: float
    kind: str
    dice: str


class Plan:
    """All that is drawn from a seed."""

    def __init__(self, seed, scenario):
        self.seed = seed
        self.scenario = scenario
        # Of the records' numbers each multiple of this is refused by the tables themselves; 0 for none.
        self.refuse_every = 97 if scenario == "refused_rows" else 0
        draw = random.Random(f"{seed}/settings")
        self.members = draw.choice([1, 2, 2, 3, 3])
        self.partitions = draw.randint(2, 5)
        self.rows_per_second = draw.choice([200, 300, 500])
        self.batch_rows = draw.choice([150, 400, 1000])
        self.batch_age_ms = draw.choice([150, 300, 600])
        self.insert_timeout_seconds = draw.choice([2, 4])
        # Any four seeds in a row have all of them.
        self.protocol = ["classic", "classic", "classic static", "consumer"][seed % 4]

    def tracks(self):
        """The two tracks, each without an end."""
        weights = [PROCESSES, THREE_BROKERS if self.scenario == "leader" else SERVICES]
        if self.scenario in KINDS:
            weights = [{self.scenario: 1}] if self.scenario in PROCESSES else [{}, {self.scenario: 1}]
        return [self._track(number, kinds) for number, kinds in enumerate(weights) if kinds]

    def _track(self, number, weights):
        draw = random.Random(f"{self.seed}/track {number}")
        drawn = {}
        count = 0
        while True:
            kinds = [k for k in weights if self.scenario in KINDS or drawn.get(k, 0) < _ONCE.get(k, 1 << 30)]
            kind = draw.choices(kinds, [weights[k] for k in kinds])[0]
            if "kill_leader" in weights and count == 0:
                kind = "kill_leader"
            drawn[kind] = drawn.get(kind, 0) + 1
            count += 1
            yield Step(draw.uniform(0.05, 0.6), kind, f"{self.seed}/{number}/{count}")

    def __str__(self):
        return (
            f"{self.members} members ({self.protocol}), {self.partitions} partitions, {self.rows_per_second} rows/s, "
            f"batches of {self.batch_rows} rows or {self.batch_age_ms} ms"
        )
