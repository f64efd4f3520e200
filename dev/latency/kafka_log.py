"""The timestamps of a topic's messages, from the files of the broker that was started here.

They come from the head of each batch; what is inside may be compressed. All messages of a batch count from its first one, so
a message may count up to the producer's `linger.ms` (20 ms) too early: latency is never shown too short.
"""

import mmap
import struct

from trial.trouble import Trouble

# Base offset, length from the leader's epoch on, that epoch, format, checksum, attributes, last offset's distance, the first
# timestamp and the largest.
_HEAD = struct.Struct(">qiibIhiqq")
_BEFORE_LENGTH = 12


def timestamps(data, topic, partitions):
    """By partition a list with the timestamp of each offset from 0 on, in seconds; `data` is the broker's folder."""
    return [_partition(data / f"{topic}-{partition}") for partition in range(partitions)]


def _partition(folder):
    found = []
    for file in sorted(folder.glob("*.log")):
        if not file.stat().st_size:
            continue
        with open(file, "rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
            for first, seconds, count in batches(content):
                if first != len(found):
                    raise Trouble(f"offset {len(found)} is not in {file}: the next batch there begins at {first}")
                found += [seconds] * count
    return found


def batches(content):
    """Of each batch in a file of the log: its first offset, its first timestamp in seconds, how many offsets it has."""
    at = 0
    while at + _HEAD.size <= len(content):
        first, length, _, _, _, _, last, first_ms, _ = _HEAD.unpack_from(content, at)
        if length <= 0:
            # What is allotted and not written yet.
            return
        yield first, first_ms / 1000, last + 1
        at += _BEFORE_LENGTH + length
