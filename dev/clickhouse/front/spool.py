"""Holds the data of an INSERT in a file in memory until the engine has read it."""

import os
import shutil
import tempfile
from contextlib import contextmanager

_MEMORY = "/dev/shm"
_ENOUGH = 1 << 30


class Spool:
    """A folder for such files; what a killed front left there is removed at start."""

    def __init__(self, name, fallback):
        self._folder = _folder(name, fallback)
        shutil.rmtree(self._folder, ignore_errors=True)
        os.makedirs(self._folder, mode=0o700)

    @contextmanager
    def file(self, pieces):
        """The path of a file with these pieces, for as long as the context lasts."""
        number, path = tempfile.mkstemp(dir=self._folder)
        try:
            with os.fdopen(number, "wb", buffering=0) as out:
                for piece in pieces:
                    _write(out, piece)
            yield path
        finally:
            os.unlink(path)

    def remove(self):
        """At the end."""
        shutil.rmtree(self._folder, ignore_errors=True)


def _folder(name, fallback):
    """In memory where there is enough of it (a container often has 64 MB there), else on the disk."""
    if os.access(_MEMORY, os.W_OK):
        stats = os.statvfs(_MEMORY)
        if stats.f_bavail * stats.f_frsize >= _ENOUGH:
            return os.path.join(_MEMORY, name)
    return fallback


def _write(out, piece):
    view = memoryview(piece)
    while view:
        view = view[out.write(view) :]
