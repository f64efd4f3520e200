"""Frames of envelopes: cut apart, and put together into larger ones."""


def frames(data):
    """The envelopes of a file of frames back to back, each without its length."""
    at = 0
    while at < len(data):
        length, at = _varint(data, at)
        yield data[at : at + length]
        at += length


def merged(envelopes, rows):
    """Messages of one frame with at least so many records, made of whole envelopes: protobuf appends repeated fields when
    bytes of two messages are put together. Each with the number of its records."""
    parts, count = [], 0
    for envelope in envelopes:
        parts.append(envelope)
        count += _records(envelope)
        if count >= rows:
            yield _framed(parts), count
            parts, count = [], 0
    if parts:
        yield _framed(parts), count


def _framed(parts):
    body = b"".join(parts)
    length, head = len(body), bytearray()
    while length >= 0x80:
        head.append(length & 0x7F | 0x80)
        length >>= 7
    head.append(length)
    return bytes(head) + body


def _records(envelope):
    at = count = 0
    while at < len(envelope):
        _, at = _varint(envelope, at)
        length, at = _varint(envelope, at)
        at += length
        count += 1
    return count


def _varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
