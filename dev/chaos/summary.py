"""What came of all runs together."""

from collections import Counter


class Summary:
    """Adds up outcomes."""

    def __init__(self):
        self._outcomes = []

    def add(self, outcome):
        self._outcomes.append(outcome)

    @property
    def runs(self):
        return len(self._outcomes)

    @property
    def failed(self):
        """Seeds that failed."""
        return [outcome.plan.seed for outcome in self._outcomes if not outcome.passed]

    @property
    def longest_seconds(self):
        return max((outcome.seconds for outcome in self._outcomes), default=0)

    def text(self):
        """The last line counts the runs."""
        strikes = sum((outcome.strikes for outcome in self._outcomes), Counter())
        least = min((sum(outcome.strikes.values()) for outcome in self._outcomes), default=0)
        peak = max((peak for outcome in self._outcomes for peak in outcome.peaks_mib.values()), default=0)
        lines = ["", f"{len(self._outcomes)} runs, {sum(strikes.values())} strikes, {least} or more in each run"]
        lines += [f"  {kind:<22}{count:>6}" for kind, count in sorted(strikes.items())]
        lines += [
            f"rows placed             {sum(outcome.verdict.rows for outcome in self._outcomes)}",
            f"pieces diverted         {sum(outcome.verdict.diverted for outcome in self._outcomes)}",
            f"doubled                 {sum(outcome.verdict.doubled for outcome in self._outcomes)}",
            f"torn and sent again     {sum(outcome.missing for outcome in self._outcomes)}",
            f"most memory of a process {peak:.0f} MiB",
        ]
        if self.failed:
            lines.append(f"failed seeds            {' '.join(map(str, self.failed))}")
        lines.append(f"{len(self._outcomes) - len(self.failed)} passed, {len(self.failed)} failed")
        return "\n".join(lines)
