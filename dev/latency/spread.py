"""How long rows took, and what most of them took."""


def waits(sent, visible, batches, warm):
    """`(seconds, rows)` for each message: from its Kafka timestamp until its rows could be read.

    `sent` has the timestamps by partition and offset, `visible` by block number when that part was there, and `batches` says
    for each `(block number, message)` how many rows it brought. Message `n` went to partition `n % partitions`, since
    the generator takes them in turn. The first `warm` messages don't count.
    """
    partitions = len(sent)
    return [
        (visible[block] - sent[message % partitions][message // partitions], rows)
        for block, message, rows in batches
        if message >= warm
    ]


def quantile(waits, share):
    """The wait that so many of the rows don't exceed, of 0 to 1."""
    ordered = sorted(waits)
    target, seen = share * sum(rows for _, rows in ordered), 0
    for seconds, rows in ordered:
        seen += rows
        if seen >= target:
            return seconds
    return ordered[-1][0]
