"""What the harness asks of Kafka, in its protocol: topics, partitions, ends, committed offsets."""

import socket
import struct
import time

_LIST_OFFSETS, _METADATA, _OFFSET_FETCH, _FIND_COORDINATOR = 2, 3, 9, 10
_CREATE_TOPICS, _DELETE_TOPICS, _CREATE_PARTITIONS = 19, 20, 37
_LATEST = -1
_TIMEOUT_MS = 10_000
_PATIENCE_SECONDS = 60


class KafkaError(Exception):
    """An answer that is no success; its code is Kafka's."""


class KafkaClient:
    """One connection for each question; it goes on asking while brokers come and go."""

    def __init__(self, ports):
        self._ports = ports

    def create_topic(self, topic, partitions, replication):
        """A topic, ready to be written to."""
        body = struct.pack(">i", 1) + _text(topic) + struct.pack(">ihii", partitions, replication, 0, 0)
        body += struct.pack(">i?", _TIMEOUT_MS, False)
        self._insist(lambda: self._named_errors(self._at_controller(_CREATE_TOPICS, 2, body), with_text=True), {36})
        self._insist(lambda: self._require(len(self.leaders(topic)) == partitions))

    def delete_topic(self, topic):
        """The topic with its groups' offsets."""
        body = struct.pack(">i", 1) + _text(topic) + struct.pack(">i", _TIMEOUT_MS)
        self._insist(lambda: self._named_errors(self._at_controller(_DELETE_TOPICS, 1, body), with_text=False), {3})

    def add_partition(self, topic):
        """One more partition; gives the new number of partitions."""
        count = len(self._insist(lambda: self.leaders(topic))) + 1
        body = struct.pack(">i", 1) + _text(topic) + struct.pack(">ii", count, -1)
        body += struct.pack(">i?", _TIMEOUT_MS, False)
        # 37: it has that many already, for an earlier attempt went through.
        self._insist(lambda: self._named_errors(self._at_controller(_CREATE_PARTITIONS, 0, body), with_text=True), {37})
        self._insist(lambda: self._require(len(self.leaders(topic)) == count))
        return count

    def leaders(self, topic):
        """The port of the leader of each partition; a partition without one is left out."""
        brokers, _, topics = self._metadata(topic)
        return {partition: brokers[leader] for partition, leader in topics.get(topic, {}).items() if leader in brokers}

    def ends(self, topic):
        """The end of each partition."""
        return self._insist(lambda: {p: self._end(port, topic, p) for p, port in self.leaders(topic).items()})

    def committed(self, group, topic):
        """The committed offset and its metadata of each partition that has one."""
        return self._insist(lambda: self._committed(group, topic))

    def coordinator(self, group):
        """The port of the broker that coordinates the group."""
        return self._insist(lambda: self._coordinator(group))

    def _committed(self, group, topic):
        partitions = sorted(self.leaders(topic))
        body = _text(group) + struct.pack(">i", 1) + _text(topic)
        body += struct.pack(f">i{len(partitions)}i", len(partitions), *partitions)
        reply = self._ask(self._coordinator(group), _OFFSET_FETCH, 2, body)
        found = {}
        for _ in range(reply.int32()):
            reply.text()
            for _ in range(reply.int32()):
                partition, offset, metadata = reply.int32(), reply.int64(), reply.text()
                _check(reply.int16())
                if offset >= 0:
                    found[partition] = (offset, metadata or "")
        _check(reply.int16())
        return found

    def _coordinator(self, group):
        reply = self._ask(None, _FIND_COORDINATOR, 0, _text(group))
        _check(reply.int16())
        reply.int32()
        reply.text()
        return reply.int32()

    def _end(self, port, topic, partition):
        body = struct.pack(">i", -1) + struct.pack(">i", 1) + _text(topic)
        body += struct.pack(">iiq", 1, partition, _LATEST)
        reply = self._ask(port, _LIST_OFFSETS, 1, body)
        reply.int32()
        reply.text()
        reply.int32()
        reply.int32()
        _check(reply.int16())
        reply.int64()
        return reply.int64()

    def _metadata(self, topic=None):
        """Brokers by id with their ports, the controller's id, leaders by topic and partition."""
        body = struct.pack(">i", 1) + _text(topic) if topic else struct.pack(">i", 0)
        reply = self._ask(None, _METADATA, 1, body)
        brokers = {}
        for _ in range(reply.int32()):
            node = reply.int32()
            reply.text()
            brokers[node] = reply.int32()
            reply.text()
        controller = reply.int32()
        topics = {}
        for _ in range(reply.int32()):
            error, name = reply.int16(), reply.text()
            reply.take(1)
            leaders = topics.setdefault(name, {}) if error == 0 else {}
            for _ in range(reply.int32()):
                reply.int16()
                partition, leader = reply.int32(), reply.int32()
                for _ in range(2):
                    reply.take(4 * reply.int32())
                leaders[partition] = leader
        return brokers, controller, topics

    def _at_controller(self, key, version, body):
        brokers, controller, _ = self._metadata()
        if controller not in brokers:
            raise KafkaError("no controller")
        return key, self._ask(brokers[controller], key, version, body)

    def _named_errors(self, answer, with_text):
        key, reply = answer
        if key in (_CREATE_TOPICS, _CREATE_PARTITIONS):
            reply.int32()  # throttle time
        elif key == _DELETE_TOPICS:
            reply.int32()
        for _ in range(reply.int32()):
            reply.text()
            code = reply.int16()
            if with_text:
                reply.text()
            _check(code)

    def _insist(self, attempt, fine=()):
        """Asks again while brokers are away or leaders unknown."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                return attempt()
            except (OSError, EOFError, KafkaError, struct.error, KeyError) as error:
                if isinstance(error, KafkaError) and error.args[0] in fine:
                    return None
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    @staticmethod
    def _require(condition):
        if not condition:
            raise KafkaError("not yet")

    def _ask(self, port, key, version, body):
        """One question, to one broker or to the first that answers."""
        last = None
        for candidate in [port] if port else self._ports:
            try:
                return _roundtrip(candidate, key, version, body)
            except (OSError, EOFError) as error:
                last = error
        raise last


class _Reply:
    """Reads an answer from its start."""

    def __init__(self, data):
        self._data = data
        self._at = 4  # behind the correlation id

    def take(self, size):
        self._at += size
        if self._at > len(self._data):
            raise EOFError
        return self._data[self._at - size : self._at]

    def _number(self, code, size):
        return struct.unpack(code, self.take(size))[0]

    def int16(self):
        return self._number(">h", 2)

    def int32(self):
        return self._number(">i", 4)

    def int64(self):
        return self._number(">q", 8)

    def text(self):
        size = self.int16()
        return None if size < 0 else self.take(size).decode()


def _roundtrip(port, key, version, body):
    request = struct.pack(">hhi", key, version, 1) + _text("xtcp-chaos") + body
    with socket.create_connection(("127.0.0.1", port), 5) as connection:
        connection.settimeout(15)
        connection.sendall(struct.pack(">i", len(request)) + request)
        return _Reply(_exactly(connection, struct.unpack(">i", _exactly(connection, 4))[0]))


def _exactly(connection, size):
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def _text(text):
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def _check(code):
    if code:
        raise KafkaError(code)
