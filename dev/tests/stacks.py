"""Stacks of the tests' own: `python -m stack` in a folder of the test, with the downloads of the real one."""

import os
import re
import subprocess
import sys
from pathlib import Path

DEV = Path(__file__).resolve().parent.parent
# The virtual environment that runs the tests lies beside the other downloads.
DOWNLOADS = Path(sys.prefix).parent
ADDRESSES = ("XTCP_INGEST_KAFKA_BROKERS", "XTCP_INGEST_CLICKHOUSE_URL")


class Stack:
    """One folder for a stack; commands run in it."""

    def __init__(self, folder, downloaded=True):
        self.folder = Path(folder)
        if downloaded:
            for name in ("venv", "kafka-libs"):
                (self.folder / name).symlink_to(DOWNLOADS / name)

    def begin(self, command, *arguments, **variables):
        """A command at work; what it says comes on its `stderr`."""
        own = (*ADDRESSES, "XTCP_DEV_KAFKA_PORT", "XTCP_DEV_KAFKA_CONTROLLER_PORT", "XTCP_DEV_CLICKHOUSE_PORT")
        environment = {name: value for name, value in os.environ.items() if name not in own}
        environment.update(PYTHONPATH=str(DEV), XTCP_DEV_DIR=str(self.folder), **variables)
        # Not the tests' own Python: the one that a person has, which knows of no virtual environment.
        command = [sys._base_executable, "-B", "-m", "stack", command, *arguments]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, *command, **variables):
        """Exit code and what was said."""
        process = self.begin(*command, **variables)
        out, said = process.communicate()
        assert not out
        assert "Traceback" not in said, said
        return process.returncode, said

    def ok(self, *command, **variables):
        code, said = self.run(*command, **variables)
        assert code == 0, said
        return said

    def failed(self, *command, **variables):
        """The one line of error of a command that must fail."""
        code, said = self.run(*command, **variables)
        assert code == 1, said
        errors = re.findall(r"^error: +(.*)$", said, re.MULTILINE)
        assert len(errors) == 1 and said.endswith(errors[0] + "\n"), said
        return errors[0]

    def env(self):
        """What .dev/env says."""
        return dict(line.split("=", 1) for line in (self.folder / "env").read_text().splitlines())
