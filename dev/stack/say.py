"""What the person sees: one line for each step on standard error, and a counter while something takes time."""

import sys
import time

_PLAIN_SECONDS = 5


def line(service, text):
    """One line."""
    print(f"{service + ':':<12}{text}", file=sys.stderr, flush=True)


class Waiting:
    """A step that takes time: a line that counts on a terminal, a line now and then elsewhere."""

    def __init__(self, service, text):
        self._service = service
        self._text = text
        self._start = time.monotonic()
        self._terminal = sys.stderr.isatty()
        self._next = self._start if self._terminal else self._start + _PLAIN_SECONDS
        if not self._terminal:
            line(service, f"{text} …")

    @property
    def seconds(self):
        """Since the step began."""
        return time.monotonic() - self._start

    def tick(self, detail=""):
        """Called often; shows the progress when it is time to."""
        now = time.monotonic()
        if now < self._next:
            return
        text = f"{self._service + ':':<12}{self._text} … {self.seconds:.0f} s{detail and ', ' + detail}"
        if self._terminal:
            print(f"\r{text}\033[K", end="", file=sys.stderr, flush=True)
            self._next = now + 0.2
        else:
            print(text, file=sys.stderr, flush=True)
            self._next = now + _PLAIN_SECONDS

    def done(self, text):
        """Ends the step with its outcome."""
        self.clear()
        line(self._service, f"{text} ({self.seconds:.1f} s)")

    def clear(self):
        """Takes the counter off a terminal."""
        if self._terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
