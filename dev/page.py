"""Tables of measurements and their places in a page of the documentation."""

import os
import platform
import re
from datetime import date


def put(page, maker, table):
    """Writes a table between the two lines that name its maker, for instance `make compare`."""
    begin, end = f"<!-- made by {maker} -->", f"<!-- end of what {maker} made -->"
    text = page.read_text()
    before, found, rest = text.partition(begin)
    _, ended, after = rest.partition(end)
    if not (found and ended):
        raise SystemExit(f"error: {page} has no `{begin}` and `{end}` to write between")
    page.write_text(f"{before}{begin}\n{table}\n{end}{after}")


def conditions(data=None):
    """Where and when: the processor, its cores, where ClickHouse has its `data` if that counts, the day."""
    place = "" if data is None else f"ClickHouse's data {'in memory' if data.startswith('/dev/shm/') else 'on disk'}, "
    return f"{_processor()}, {os.cpu_count()} cores, {place}{date.today()}"


def _processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as told:
            names = re.findall(r"^model name\s*: (.*)$", told.read(), re.MULTILINE)
        return names[0] if names else platform.machine()
    except OSError:
        return platform.machine()
