"""Holds the data of an INSERT in a file, best in memory, until the engine has read it."""

import os
import shutil
import tempfile
from contextlib import contextmanager


class Spool:
    """A folder for such files; what a killed front left there is removed at start."""

    def __init__(self, folder):
        self._folder = folder
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


def _write(out, piece):
    view = memoryview(piece)
    while view:
        view = view[out.write(view) :]
