"""How `make server-cost` takes its rounds."""

from servercost.rounds import Rounds


def test_rounds_take_the_cases_in_turn_and_ratios_within_a_round():
    seen = []
    figures = {"base": iter([1.0, 10.0, 2.0]), "other": iter([2.0, 15.0, 8.0])}

    def case(name):
        seen.append(name)
        return {"cost": next(figures[name])}

    found = Rounds({name: lambda name=name: case(name) for name in figures}, 3)
    assert seen == ["base", "other"] * 3
    assert found.figure("base", "cost") == 2.0 and found.figure("other", "cost") == 8.0
    # Not 8 / 2: the rounds had 2, 1.5 and 4.
    assert found.ratio("other", "cost") == 2.0 and found.ratio("base", "cost") == 1.0


def test_a_case_without_a_figure_has_none():
    found = Rounds({"base": lambda: {"cost": 1.0, "merge": 2.0}, "other": lambda: {"cost": 1.0}}, 2)
    assert found.figure("other", "merge") is None and found.ratio("other", "merge") is None
