"""Two requests in Kafka's protocol: which cluster answers on this port, and remove a topic."""

import socket
import struct

_METADATA = (3, 4)
_DELETE_TOPICS = (20, 1)
_PATIENCE_MS = 10_000


def cluster_id(port, host="127.0.0.1", timeout=2.0):
    """The id of the cluster that answers there; None when nobody does (yet). It answers once it serves requests."""
    no_topics = struct.pack(">i?", 0, False)  # and none to be created
    try:
        return _cluster_id(_ask(host, port, _METADATA, no_topics, timeout))
    except (OSError, EOFError, struct.error, UnicodeDecodeError):
        return None


def delete_topic(name, port, host="127.0.0.1"):
    """Removes a topic; False when that can't be said to be done."""
    body = struct.pack(">i", 1) + _packed(name) + struct.pack(">i", _PATIENCE_MS)
    try:
        reply = _ask(host, port, _DELETE_TOPICS, body, 2 * _PATIENCE_MS / 1000)
        # Throttle time, one topic: its name and the error.
        _, at = _text(reply, 8)
        return struct.unpack_from(">h", reply, at)[0] == 0
    except (OSError, EOFError, struct.error, UnicodeDecodeError):
        return False


def _ask(host, port, kind, body, timeout):
    """Sends one request and gives its answer behind the correlation id."""
    request = struct.pack(">hhi", *kind, 1) + _packed("xtcp-dev") + body
    with socket.create_connection((host, port), timeout) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        size = struct.unpack(">i", _exactly(connection, 4))[0]
        return _exactly(connection, size)[4:]


def _exactly(connection, size):
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def _cluster_id(reply):
    """Throttle time, brokers (id, host, port, rack), cluster id."""
    _, brokers = struct.unpack_from(">ii", reply)
    at = 8
    for _ in range(brokers):
        _, at = _text(reply, at + 4)
        _, at = _text(reply, at + 4)
    found, _ = _text(reply, at)
    return found if brokers else None


def _packed(text):
    return struct.pack(">h", len(text.encode())) + text.encode()


def _text(reply, at):
    (size,) = struct.unpack_from(">h", reply, at)
    at += 2
    if size < 0:
        return None, at
    return reply[at : at + size].decode(), at + size
