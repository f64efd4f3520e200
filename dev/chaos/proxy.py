"""A proxy between one member and ClickHouse: passes requests on, under the modes that are in force."""

import itertools
import socket
import struct
import threading

from . import modes
from .http_message import Broken, Stream, exception_code, status
from .traffic import Request

_TRANSFER_SECONDS = 60


class Modes:
    """The modes that are in force, for all proxies."""

    def __init__(self):
        self._lock = threading.Lock()
        self._modes = []

    def add(self, mode):
        with self._lock:
            self._modes.append(mode)
        return mode

    def remove(self, mode):
        with self._lock:
            if mode in self._modes:
                self._modes.remove(mode)

    def clear(self):
        with self._lock:
            self._modes.clear()

    def of(self, request):
        """Those that have to do with an insert, the oldest first."""
        with self._lock:
            return [mode for mode in self._modes if mode.wants(request)]


class Proxy:
    """Listens on a port of its own; one thread for each connection."""

    def __init__(self, slot, server_port, in_force, traffic):
        self._slot = slot
        self._server_port = server_port
        self._in_force = in_force
        self._traffic = traffic
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        """Takes no more connections."""
        # Closing alone would leave the accepting thread where it is.
        try:
            self._listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = _Connection(client, self._server_port)
        try:
            while True:
                head = connection.client.head()
                if head is None:
                    break
                self._request(connection, Request(self._slot, head))
        except (Broken, OSError, modes.Cut):
            connection.reset()
        connection.close()

    def _request(self, connection, request):
        if not request.is_insert:
            # Everything else passes, unless connections are refused.
            if any(isinstance(mode, modes.Refuse) for mode in self._in_force.of(request)):
                raise modes.Cut
            _Exchange(connection, request, [], None).run()
            return
        self._traffic.begin(request)
        try:
            _Exchange(connection, request, self._in_force.of(request), self._traffic).run()
        finally:
            self._traffic.end(request)


class _Exchange:
    """One request and its answer."""

    def __init__(self, connection, request, in_force, traffic):
        self._connection = connection
        self._request = request
        self._modes = in_force
        self._traffic = traffic
        self._body = connection.client.body(request.head)

    def run(self):
        try:
            self._send()
            head, body = self._receive()
        except modes.Answer as answer:
            # The rest of the body is read, so that the answer is seen and the connection goes on.
            for _ in self._body:
                pass
            self._connection.client.connection.sendall(answer.args[0])
            return
        self._connection.client.connection.sendall(head + body)
        self._each("told", exception_code(head))

    def _each(self, stage, *facts):
        for mode in self._modes:
            getattr(mode, stage)(self._request, *facts)

    def _send(self):
        self._each("begun")
        pieces = self._body
        if any(mode.buffers for mode in self._modes):
            pieces = list(pieces)
            self._each("buffered")
        server = self._connection.server()
        server.sendall(self._request.head)
        sent = 0
        for piece in pieces:
            try:
                self._each("piece", sent, piece)
            except modes.Cut as cut:
                server.sendall(cut.last)
                raise
            server.sendall(piece)
            sent += len(piece)
        self._each("sent")

    def _receive(self):
        answers = self._connection.answers
        head = answers.head()
        while head is not None and status(head) == 100:
            self._connection.client.connection.sendall(head)
            head = answers.head()
        if head is None:
            raise Broken
        body = b"".join(answers.body(head))
        code = exception_code(head)
        if self._traffic:
            self._traffic.answered(self._request, code)
        self._each("answered", code)
        return head, body


class _Connection:
    """A member's connection and the one to the server behind it, which is made when it is needed."""

    def __init__(self, client, server_port):
        client.settimeout(None)
        self.client = Stream(client)
        self.answers = None
        self._server_port = server_port

    def server(self):
        if self.answers is None:
            server = socket.create_connection(("127.0.0.1", self._server_port), 5)
            server.settimeout(_TRANSFER_SECONDS)
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.answers = Stream(server)
        return self.answers.connection

    def reset(self):
        """Ends both with a reset: what is under way is lost."""
        for connection in self._both():
            try:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            except OSError:
                pass

    def close(self):
        for connection in self._both():
            connection.close()

    def _both(self):
        return itertools.chain([self.client.connection], [self.answers.connection] if self.answers else [])
