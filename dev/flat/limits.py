"""What a cost may be at most, as a multiple of its base, and what is said when it is more."""

EPOCHS = 1.1
UNKNOWN_FIELDS = 2.0
DIVERTED = 3.0
PARTITIONS = 1.5
BACKLOG_MEMORY = 1.25
# MiB: what the soak allows as well.
MEMORY = 512


class Verdict:
    """Collects what isn't flat."""

    def __init__(self):
        self.lines = []

    def check(self, what, found, limit):
        """Marks a figure that is over its limit, for the table."""
        if found <= limit:
            return f"{found:.2f}"
        self.lines.append(f"{what}: {found:.2f}, at most {limit:g} is flat")
        return f"**{found:.2f}**"

    def memory(self, what, found):
        """The same for a peak, in bytes; gives MiB."""
        mib = found / (1 << 20)
        if mib <= MEMORY:
            return f"{mib:.0f}"
        self.lines.append(f"{what}: {mib:.0f} MiB, at most {MEMORY} are allowed")
        return f"**{mib:.0f}**"
