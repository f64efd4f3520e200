"""Kafka's processes for the harness: small, and quick to start rather than quick for long."""

import re
import subprocess

from stack import paths, tools
from stack.process import Process
from stack.trouble import Trouble

SOURCES = paths.SOURCES / "kafka"
_JVM = ["-Xms96m", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]


def properties(name, changes, **values):
    """Writes the local stack's properties with changes of its own, and gives their file; None leaves a line out."""
    text = (SOURCES / "server.properties").read_text()
    text = re.sub("@([A-Z_]+)@", lambda found: str(values[found.group(1)]), text)
    for left_out in [name for name, value in changes.items() if value is None]:
        text = re.sub(rf"^{re.escape(left_out)}=.*$", "", text, flags=re.MULTILINE)
    # The last line with a name counts.
    text += "".join(f"{name}={value}\n" for name, value in changes.items() if value is not None)
    file = paths.MADE / f"{name}.properties"
    file.write_text(text)
    return file


def form(file, cluster, *arguments):
    """Formats the data folder that the properties name."""
    command = [*_java(), "kafka.tools.StorageTool", "format", "-t", cluster, "-c", file, *arguments]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise Trouble(f"Kafka's data folder could not be formatted: {(done.stderr or done.stdout).strip()[-300:]}")


def start(name, file):
    """Starts Kafka in the role that the properties give it."""
    return Process.start(name, [*_java(), f"-Dlog4j2.configurationFile={SOURCES / 'log4j2.xml'}", "kafka.Kafka", file])


def _java():
    return [tools.java(), "-cp", f"{paths.JARS}/*", *_JVM]
