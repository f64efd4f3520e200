"""One question in Kafka's protocol: which cluster answers on this port?"""

import socket
import struct

_METADATA = 3
_VERSION = 4


def cluster_id(port, host="127.0.0.1", timeout=2.0):
    """The id of the cluster that answers there; None when nobody does (yet). It answers once it serves requests."""
    client = b"xtcp-dev"
    body = struct.pack(">hhih", _METADATA, _VERSION, 1, len(client)) + client
    body += struct.pack(">i?", 0, False)  # no topics, and none to be created
    try:
        with socket.create_connection((host, port), timeout) as connection:
            connection.sendall(struct.pack(">i", len(body)) + body)
            size = struct.unpack(">i", _exactly(connection, 4))[0]
            return _parse(_exactly(connection, size))
    except (OSError, EOFError, struct.error, UnicodeDecodeError):
        return None


def _exactly(connection, size):
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def _parse(reply):
    """Correlation id, throttle time, brokers (id, host, port, rack), cluster id."""
    _, _, brokers = struct.unpack_from(">iii", reply)
    at = 12
    for _ in range(brokers):
        _, at = _text(reply, at + 4)
        _, at = _text(reply, at + 4)
    found, _ = _text(reply, at)
    return found if brokers else None


def _text(reply, at):
    (size,) = struct.unpack_from(">h", reply, at)
    at += 2
    if size < 0:
        return None, at
    return reply[at : at + size].decode(), at + size
