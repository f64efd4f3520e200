"""`down` and `clean`: stop exactly what was started, and remove what was made."""

import shutil

from . import paths
from .process import Process
from .say import Waiting, line

_PATIENCE_SECONDS = 40


def down(services):
    """Stops what `up` started, by pid."""
    for service in services:
        process = Process.load(service.name)
        if process is None:
            line(service.name, "not running")
            continue
        waiting = Waiting(service.name, f"stopping (pid {process.pid})")
        polite = process.stop(_PATIENCE_SECONDS)
        waiting.done(f"stopped (pid {process.pid})" + ("" if polite else ", by force: it did not end by itself"))
    paths.ENV.unlink(missing_ok=True)


def clean(services):
    """Stops everything and removes data, logs and downloads."""
    down(services)
    for service in services:
        service.clean()
    shutil.rmtree(paths.MADE, ignore_errors=True)
    line("clean", f"{paths.shown(paths.MADE)} is removed")
