"""`python3 -m floor BINARY FLOOR`: whether decoding is still as much faster than prost as the record says.

A ratio of two things that are timed in turn on the same bytes, since the times of two runs say nothing on shared machines.
"""

import json
import subprocess
import sys
from pathlib import Path


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: python3 -m floor BINARY FLOOR")
    binary, floor = sys.argv[1], json.loads(Path(sys.argv[2]).read_text())
    done = subprocess.run([binary, "bench", "--json", "--mix", floor["mix"]], stdout=subprocess.PIPE)
    if done.returncode:
        sys.exit(f"error: `xtcp-ingest bench` ended with {done.returncode}")
    found, least = json.loads(done.stdout)["ratio_to_prost"], floor["ratio_to_prost"]
    print(f"decode, route and encode: {found:.2f} times as fast as prost; the floor is {least}")
    if found < least:
        sys.exit(f"error: below the floor of {least}: see what changed with `cargo bench`, or lower it in {sys.argv[2]} with a reason")


main()
