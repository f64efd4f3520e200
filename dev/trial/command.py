"""How a trial or a measurement is begun and ended as a command."""

import signal
import sys
from pathlib import Path

from .trouble import Trouble


def carry_out(work):
    """Does the work; what is in its way is told in one line."""
    # As Ctrl-C: what was begun is cleaned up.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        work()
    except Trouble as trouble:
        sys.exit(f"error: {trouble}")
    except KeyboardInterrupt:
        sys.exit(130)


def measure(name, work):
    """The command of a measurement, which is given the binary and the page to write into."""
    if len(sys.argv) != 3:
        sys.exit(f"usage: python3 -m {name} BINARY PAGE")
    carry_out(lambda: work(sys.argv[1], Path(sys.argv[2])))
