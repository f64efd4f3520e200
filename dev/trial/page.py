"""A page that has a part of it made by a command."""

import os
import platform
import re
from datetime import date

from .trouble import Trouble


def write(page, command, text):
    """Puts what a command found into its place in the page."""
    begin, end = f"<!-- made by `{command}` -->", f"<!-- end of what `{command}` made -->"
    before, found, rest = page.read_text().partition(begin)
    _, ended, after = rest.partition(end)
    if not (found and ended):
        raise Trouble(f"{page} has no `{begin}` and `{end}` to write between")
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def conditions():
    """Where and when something was measured."""
    return f"{_processor()}, {os.cpu_count()} cores, {date.today()}"


def _processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as told:
            names = re.findall(r"^model name\s*: (.*)$", told.read(), re.MULTILINE)
        return names[0] if names else platform.machine()
    except OSError:
        return platform.machine()
