"""The HTTP server: one thread for each connection, keep-alive, and a reply for whatever comes of a request."""

import re
import socket
import sys
import threading
import traceback
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from . import reply
from .errors import Disconnected, Refusal, refuse
from .request import Request

_KEEP_ALIVE_SECONDS = 30
_TRANSFER_SECONDS = 300
_DRAIN_LIMIT = 256 << 20
# What came from a client and goes back in a header is cut to what a header may hold.
_UNSAFE = re.compile(r"[^ -~]")


class Server(ThreadingHTTPServer):
    """Takes its port at once and answers from `server_activate` on."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address, name):
        super().__init__(address, Handler, bind_and_activate=False)
        self.name = name
        self.accounts = self.engine = self.runner = None
        self._busy = 0
        self._idle = threading.Condition()
        self.server_bind()

    def server_bind(self):
        """Binds without looking up the host's name, which may take seconds where there is no DNS."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_name, self.server_port = self.server_address = self.socket.getsockname()

    def serve(self, accounts, engine, runner):
        """Answers until `shutdown` is called from another thread."""
        self.accounts, self.engine, self.runner = accounts, engine, runner
        self.server_activate()
        self.serve_forever(poll_interval=0.1)

    def working(self, change):
        """Counts the requests in work."""
        with self._idle:
            self._busy += change
            self._idle.notify_all()

    def wait_idle(self, seconds):
        """Whether no request is in work any more, waiting for that a while."""
        with self._idle:
            return self._idle.wait_for(lambda: not self._busy, seconds)

    def handle_error(self, request, client_address):
        """A connection that breaks is the client's affair; anything else is told."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError, socket.timeout)):
            traceback.print_exc()


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    rbufsize = 1 << 18
    wbufsize = 1 << 16
    timeout = _KEEP_ALIVE_SECONDS

    def do_GET(self):
        url = urlsplit(self.path)
        self._continued = "Expect" not in self.headers
        self._query_id = str(uuid.uuid4())
        self.server.working(1)
        self.connection.settimeout(_TRANSFER_SECONDS)
        try:
            self._answer(url)
        except Disconnected:
            self.close_connection = True
        finally:
            self.server.working(-1)
            if not self.close_connection:
                self.connection.settimeout(_KEEP_ALIVE_SECONDS)

    do_POST = do_HEAD = do_GET

    def _answer(self, url):
        if url.path in ("/ping", "/replicas_status") or (url.path == "/" and not url.query and self.command != "POST"):
            self._send(200, [b"Ok.\n"], {"Content-Type": "text/html; charset=UTF-8"})
        elif url.path in ("/", "/query"):
            self._query(url.query)
        else:
            text = f"There is no handle {url.path}\n\nUse / or /ping for health checks.\n"
            self._send(404, [text.encode()], {"Content-Type": "text/plain; charset=UTF-8"})

    def _query(self, query_string):
        request = None
        try:
            request = Request(self.command, query_string, self.headers, _Continued(self))
            account = self.server.accounts.authenticate(self.headers, request.params)
            self._query_id = request.params.get("query_id") or self._query_id
            result = self.server.runner.run(request, account)
            parts = reply.content(result, request.compressed_reply)
        except Refusal as refusal:
            self._refuse(refusal, request)
        except (Disconnected, ConnectionError, TimeoutError):
            raise
        except Exception as error:
            traceback.print_exc()
            self._refuse(refuse(1001, "STD_EXCEPTION", f"The front failed: {error!r}"), request)
        else:
            self._drain(request)
            headers = {
                "Content-Type": reply.content_type(request.output),
                "X-ClickHouse-Format": request.output,
                "X-ClickHouse-Summary": reply.summary(result),
            }
            self._send(200, parts, headers)

    def _refuse(self, refusal, request):
        self._drain(request)
        line = refusal.text.replace("\n", " ")
        print(f"{self.command} {refusal.status} {line:.300}", file=sys.stderr, flush=True)
        text = f"{refusal.text} (version {self.server.engine.version})\n"
        headers = {
            "Content-Type": "text/plain; charset=UTF-8",
            "X-ClickHouse-Exception-Code": str(refusal.code),
            "X-ClickHouse-Summary": reply.summary(),
        }
        if refusal.status == 401:
            headers["WWW-Authenticate"] = 'Basic realm="ClickHouse server HTTP API"'
        self._send(refusal.status, [text.encode("utf-8", "surrogateescape")], headers)

    def _drain(self, request):
        """Reads what is left of the body, so that the reply is seen and the connection can go on."""
        if request is None or (not self._continued and not request.raw_body.complete):
            self.close_connection = True
            return
        left = _DRAIN_LIMIT
        while not request.raw_body.complete and left > 0:
            left -= max(1, len(request.raw_body.read(1 << 20)))
        if not request.raw_body.complete:
            self.close_connection = True

    def _send(self, status, parts, headers):
        headers = {**headers, "X-ClickHouse-Query-Id": self._query_id}
        self.send_response(status)
        self.send_header("Connection", "close" if self.close_connection else "Keep-Alive")
        self.send_header("Keep-Alive", f"timeout={_KEEP_ALIVE_SECONDS}")
        self.send_header("X-ClickHouse-Server-Display-Name", self.server.name)
        self.send_header("X-ClickHouse-Timezone", self.server.engine.timezone)
        for name, value in headers.items():
            self.send_header(name, _UNSAFE.sub("?", value))
        self.send_header("Content-Length", str(sum(len(part) for part in parts)))
        self.end_headers()
        if self.command != "HEAD":
            for part in parts:
                self.wfile.write(part)

    def handle_expect_100(self):
        """Leaves `100 Continue` until the body is wanted: an error before that spares the client the sending."""
        return True

    def say_continue(self):
        """Tells a client that waits for it to send its body."""
        if not self._continued:
            self._continued = True
            self.send_response_only(100)
            self.end_headers()
            self.wfile.flush()

    def log_request(self, code="-", size="-"):
        """Requests are not logged, only what goes wrong."""

    def log_error(self, format, *args):
        """A connection that times out between requests is no error."""

    def version_string(self):
        return "ClickHouse (chDB)"


class _Continued:
    """The connection's stream for a body: the first read asks the client for it, a broken one is `Disconnected`."""

    def __init__(self, handler):
        self._handler = handler
        self._stream = handler.rfile

    def read(self, size):
        return self._attempt(self._stream.read, size)

    def readline(self, size):
        return self._attempt(self._stream.readline, size)

    def _attempt(self, read, size):
        self._handler.say_continue()
        try:
            return read(size)
        except OSError:
            raise Disconnected from None
