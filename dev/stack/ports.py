"""Ports of the services: by variable or by default, tested for being free before anything is started."""

import os
import socket

from .say import line
from .trouble import Trouble

_TRIES = 200


class Ports:
    """Picks ports; none is given twice."""

    def __init__(self):
        self._taken = set()

    def pick(self, variable, default):
        """The port of `variable`, which must be free, or the first free one from `default` on."""
        value = os.environ.get(variable)
        if value:
            return self._take(_port(variable, value), variable)
        for port in range(default, default + _TRIES):
            if port not in self._taken and is_free(port):
                if port != default:
                    line("ports", f"{default} is in use, taking {port} ({variable} sets another)")
                return self._take(port, variable)
        raise Trouble(f"no free port from {default} to {default + _TRIES - 1}: set {variable} to a free one")

    def _take(self, port, variable):
        if port in self._taken or not is_free(port):
            raise Trouble(f"port {port} is in use: set {variable} to a free port, or stop what uses it")
        self._taken.add(port)
        return port


def is_free(port):
    """Whether a service could listen on a loopback port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
            probe.listen(1)
        except OSError:
            return False
    return True


def _port(variable, value):
    if not value.isdigit() or not 0 < int(value) < 65536:
        raise Trouble(f"{variable}={value} is no port: set it to a number from 1 to 65535")
    return int(value)
