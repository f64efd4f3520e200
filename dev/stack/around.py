"""`around COMMAND…`: the services for as long as one command takes.

What ran before goes on running; what was started for the command is stopped with it, however it ends.
"""

import os
import signal
import subprocess
from contextlib import contextmanager

from . import paths
from .alone import alone
from .down import down
from .process import Process
from .trouble import Trouble
from .up import up

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def around(services, command):
    """Runs the command with the addresses in its environment, and gives its exit code."""
    with _signals_raise(), _services(services):
        addresses = dict(line.split("=", 1) for line in paths.ENV.read_text().splitlines())
        try:
            # A session of its own: a signal, from the keyboard or not, reaches all of it, and once.
            environment = {**os.environ, **addresses}
            child = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, start_new_session=True)
        except OSError as error:
            raise Trouble(f"`{command[0]}` can't be started: {error.strerror}") from None
        try:
            code = child.wait()
        except Ending as ending:
            os.killpg(child.pid, ending.number)
            child.wait()
            raise
        return code if code >= 0 else 128 - code


class Ending(KeyboardInterrupt):
    """A signal that ends the command."""

    def __init__(self, number):
        super().__init__(number)
        self.number = number


@contextmanager
def _services(services):
    running = []
    try:
        with alone():
            running += [service for service in services if Process.load(service.name)]
            up(services)
        yield
    finally:
        # Whoever is impatient now would leave them running.
        for number in _ENDING:
            signal.signal(number, signal.SIG_IGN)
        with alone():
            started = [service for service in services if service not in running and Process.load(service.name)]
            if started:
                down(started)


@contextmanager
def _signals_raise():
    def end(number, _):
        raise Ending(number)

    for number in _ENDING:
        signal.signal(number, end)
    yield
