"""ClickHouse as `run` reaches it in a trial, away for a while in the middle."""

import contextlib
import socket
import threading
import time
from urllib.parse import urlsplit


class Outage:
    """A way to ClickHouse that is shut, once rows have gone through it, for that many seconds."""

    # Bytes: by then inserts are under way.
    AFTER = 32 << 20

    def __init__(self, url, seconds):
        target = urlsplit(url)
        self._target = (target.hostname, target.port or 8123)
        self._seconds = seconds
        self._passed = 0
        self._until = None
        self._lock = threading.Lock()
        self._open = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    @property
    def was_over(self):
        """Whether it began and ended."""
        return self._until is not None and time.monotonic() > self._until

    def _is_shut(self):
        return self._until is not None and time.monotonic() < self._until

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._is_shut():
                client.close()
                continue
            try:
                server = socket.create_connection(self._target, 5)
            except OSError:
                client.close()
                continue
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._open |= {client, server}
            threading.Thread(target=self._pass, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, False), daemon=True).start()

    def _pass(self, source, sink, counts):
        with contextlib.suppress(OSError):
            while piece := source.recv(1 << 18):
                sink.sendall(piece)
                if counts:
                    self._count(len(piece))
        with self._lock:
            self._open -= {source, sink}
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _count(self, size):
        with self._lock:
            self._passed += size
            if self._until is not None or self._passed < self.AFTER:
                return
            self._until = time.monotonic() + self._seconds
            under_way = list(self._open)
        for one in under_way:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
