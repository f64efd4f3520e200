"""Cases that are measured in turn, round after round, and what is told of each.

The machine is not equally fast all the time. What changes slowly meets all cases of a round alike, so that the ratio of two cases
within it holds where their figures do not.
"""

from statistics import median


class Rounds:
    """By case its figures, round by round; the first case is the base of the ratios."""

    def __init__(self, cases, passes):
        """Each case is a function of no arguments that gives its figures by name."""
        self._found = {name: [] for name in cases}
        for _ in range(passes):
            for name, case in cases.items():
                self._found[name].append(case())

    def figure(self, case, what):
        """The median over the rounds; None of a case that has no such figure."""
        found = [figures[what] for figures in self._found[case] if what in figures]
        return median(found) if found else None

    def ratio(self, case, what):
        """To the base, the median of what it was within each round; None of a case that has no such figure."""
        base = next(iter(self._found.values()))
        found = [here[what] / there[what] for here, there in zip(self._found[case], base) if what in here]
        return median(found) if found else None
