"""One command at a time for each .dev folder."""

import fcntl
from contextlib import contextmanager

from . import paths
from .say import line


@contextmanager
def alone():
    """A second command waits until the first is done."""
    paths.MADE.mkdir(parents=True, exist_ok=True)
    with open(paths.MADE / "lock", "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            line("lock", f"waiting for another command on {paths.shown(paths.MADE)}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
