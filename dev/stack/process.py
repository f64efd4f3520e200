"""Processes that outlive the command: started, known again by pid and start time, stopped."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

from . import paths


class Process:
    """A process of the stack and what is remembered of it in .dev/run/NAME.json."""

    def __init__(self, name, record):
        self.name = name
        self.record = record

    @property
    def pid(self):
        return self.record["pid"]

    @classmethod
    def load(cls, name):
        """What was started last under a name and still runs; None otherwise."""
        try:
            record = json.loads(_file(name).read_text())
        except FileNotFoundError:
            return None
        process = cls(name, record)
        if process.is_alive():
            return process
        process.forget()
        return None

    @classmethod
    def start(cls, name, command, environment=None, **facts):
        """Starts a process of its own session, its output at the end of its log."""
        paths.RUNNING.mkdir(parents=True, exist_ok=True)
        with open(paths.log(name), "ab") as log:
            child = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=paths.MADE,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )
        process = cls(name, {"pid": child.pid, "started": _started(child.pid), **facts})
        # Kept so that the child is reaped while this command runs.
        process._child = child
        _file(name).write_text(json.dumps(process.record))
        return process

    def is_alive(self):
        """Whether the pid is still this process, and not another that got the number later."""
        child = getattr(self, "_child", None)
        if child is not None and child.poll() is not None:
            return False
        return _started(self.pid) == self.record["started"]

    @property
    def exit_code(self):
        """Of a process that this command started and that has ended; None otherwise. A signal's is negative."""
        child = getattr(self, "_child", None)
        # Not `poll`: it knows nothing while another thread is asking.
        return None if child is None or self.is_alive() else child.wait()

    def stop(self, patience):
        """Ends it: politely, and after `patience` seconds by force. False if force was needed."""
        polite = self._signal(signal.SIGTERM, patience)
        if not polite:
            self._signal(signal.SIGKILL, patience)
        self.forget()
        return polite

    def forget(self):
        """Drops what is remembered."""
        _file(self.name).unlink(missing_ok=True)

    def _signal(self, number, patience):
        if self.is_alive():
            os.kill(self.pid, number)
        end = time.monotonic() + patience
        while self.is_alive():
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True


def _file(name):
    return paths.RUNNING / f"{name}.json"


def _started(pid):
    """When a process started, in whatever unit the system tells it; None if there is none, or only its zombie."""
    if Path("/proc/self/stat").exists():
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        return None if fields[0] == "Z" else fields[19]
    told = subprocess.run(["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True)
    state, _, started = told.stdout.strip().partition(" ")
    return started.strip() if state and not state.startswith("Z") else None
