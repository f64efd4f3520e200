"""What a seed says, what a run is told, and what counts as a strike."""

import io
import itertools
import random
from collections import Counter
from types import SimpleNamespace

import pytest
from chaos import faults
from chaos.missed import Missed
from chaos.options import Options
from chaos.plan import KINDS, SCENARIOS, Plan
from chaos.summary import Summary
from chaos.timeline import Timeline
from chaos.tracks import Tracks
from stack.trouble import Trouble


def steps(plan, count=50):
    return [list(itertools.islice(track, count)) for track in plan.tracks()]


def test_a_seed_replays():
    one, again, other = (Plan(seed, "mixed") for seed in (7, 7, 8))
    assert str(one) == str(again) and steps(one) == steps(again)
    assert steps(one) != steps(other)


def test_every_kind_is_drawn_and_is_there():
    drawn = {step.kind for seed in range(40) for track in steps(Plan(seed, "mixed"), 12) for step in track}
    assert drawn == set(KINDS) - {"kill_leader"}
    faults.check()


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_scenario_is_what_its_name_says(scenario):
    drawn = [[step.kind for step in track] for track in steps(Plan(1, scenario), 20)]
    if scenario in KINDS:
        assert {kind for track in drawn for kind in track} == {scenario}
    elif scenario == "leader":
        assert drawn[1][0] == "kill_leader" and "kill_broker" not in drawn[1]
    else:
        assert len(drawn) == 2 and (Plan(1, scenario).refuse_every > 0) == (scenario == "refused_rows")


def test_options_have_defaults_and_say_what_is_wrong():
    options = Options.read({})
    assert (options.runs, options.scenario, options.delivery) == (1, "mixed", "exactly_once")
    assert Options.read({}).first_seed != options.first_seed
    assert Options.read({"SEED": "5", "RUNS": "", "MINUTES": "0.5"}).minutes == 0.5
    for name, value in [("SEED", "x"), ("RUNS", "0"), ("SCENARIO", "x"), ("DELIVERY", "twice")]:
        with pytest.raises(Trouble, match=f"{name}={value}"):
            Options.read({name: value})


class _World:
    def __init__(self):
        self.timeline = Timeline(io.StringIO())
        self.findings = []

    def wait_for_brokers(self):
        pass

    def finding(self, text):
        self.findings.append(text)


@pytest.fixture
def struck(monkeypatch):
    """Runs tracks whose faults do what is given."""

    def go(fault, patience=5, hopeless=False):
        monkeypatch.setattr(faults, "by_name", lambda kind: fault)
        monkeypatch.setattr(faults, "BESIDE", set())
        monkeypatch.setattr("chaos.tracks.time.sleep", lambda _: None)
        world = _World()
        Tracks(world, Plan(1, "mixed"), 10, patience, lambda: hopeless).run()
        return world

    return go


def test_only_what_hit_something_counts(struck):
    def fault(_world, dice):
        if dice.random() < 0.7:
            raise Missed("idle")
        return "hit"

    world = struck(fault)
    assert 10 <= sum(world.timeline.strikes.values()) <= 12
    assert world.timeline.text().count(" missed: idle") > 10, "more faults came until ten had struck"


def test_tracks_end_with_their_patience_or_without_hope(struck):
    def fault(_world, _dice):
        raise Missed("idle")

    assert not struck(fault, patience=0.1).timeline.strikes
    assert struck(fault, hopeless=True).timeline.text() == ""


def test_a_fault_of_the_harness_is_a_finding(struck):
    def fault(_world, _dice):
        raise ValueError("oops")

    assert "oops" in struck(fault, patience=0.1).findings[0]


def test_the_same_dice_give_the_same_details():
    step = steps(Plan(3, "mixed"))[0][0]
    assert random.Random(step.dice).random() == random.Random(step.dice).random()


def test_the_summary_ends_with_the_count():
    summary = Summary()
    for seed, passed in [(1, True), (2, False), (3, True)]:
        judged = SimpleNamespace(passed=passed, rows=10, diverted=2, doubled=0)
        summary.add(
            SimpleNamespace(
                plan=SimpleNamespace(seed=seed),
                verdict=judged,
                passed=passed,
                strikes=Counter(kill_ingest=11),
                peaks_mib={"member 1": 50},
                seconds=1,
                missing=1,
            )
        )
    text = summary.text()
    assert text.endswith("\n2 passed, 1 failed") and "failed seeds            2\n" in text
    assert "3 runs, 33 strikes, 11 or more in each run" in text
    assert "torn and sent again     3\n" in text
