"""One table of what was expected beside what was found."""

import sys


class Table:
    """Sections of lines; a line is right when both numbers are the same."""

    def __init__(self, *heads):
        self._heads = heads
        self._lines = []

    def section(self, title):
        self._lines.append((title,))

    def add(self, name, expected, found):
        self._lines.append((name, expected, found))

    @property
    def wrong(self):
        """How many lines are not right."""
        return sum(1 for line in self._lines if len(line) == 3 and line[1] != line[2])

    def print(self):
        first, *numbers = self._heads
        lines = [f"{first:<34}{numbers[0]:>14}{numbers[1]:>14}"]
        lines.append("─" * (len(lines[0]) + 2))
        for line in self._lines:
            if len(line) == 1:
                lines.append(line[0])
            else:
                name, expected, found = line
                sign = "✓" if expected == found else "✗"
                lines.append(f"  {name:<32}{expected:>14,}{found:>14,} {sign}")
        print("\n".join(lines), file=sys.stdout, flush=True)
