"""Each mode of the harness's proxy does to an insert what its name says, and counts it only then."""

import http.client
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

import pytest
from chaos import modes
from chaos.missed import Missed
from chaos.moment import at
from chaos.proxy import Modes, Proxy
from chaos.traffic import Traffic

BODY = bytes(range(256)) * 200
INSERT = "/?query=" + quote("INSERT INTO `db`.`flat_v2` (a) FORMAT Native")


class Taker(ThreadingHTTPServer):
    """Keeps the bodies that came whole."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies = []
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        if self.headers["Transfer-Encoding"] == "chunked":
            body = b""
            while size := int(self.rfile.readline() or b"0", 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            size = int(self.headers["Content-Length"])
            body = self.rfile.read(size)
            if len(body) < size:
                return
        self.server.bodies.append(body)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


class Bench:
    """A server, a proxy before it, and a client."""

    def __init__(self):
        self.server, self.in_force, self.traffic = Taker(), Modes(), Traffic()
        self.proxy = Proxy(1, self.server.server_port, self.in_force, self.traffic)
        self.connection = http.client.HTTPConnection("127.0.0.1", self.proxy.port, timeout=20)

    def send(self, body=BODY, target=INSERT):
        """Status, code and text of the answer; None when the connection broke."""
        try:
            self.connection.request("POST", target, body, encode_chunked=not isinstance(body, bytes))
            reply = self.connection.getresponse()
            return reply.status, reply.headers["X-ClickHouse-Exception-Code"], reply.read()
        except (http.client.HTTPException, OSError):
            self.connection.close()
            return None

    def under(self, mode):
        return self.in_force.add(mode)


@pytest.fixture
def bench():
    bench = Bench()
    yield bench
    bench.proxy.close()
    bench.server.shutdown()
    bench.server.server_close()


OK = (200, None, b"ok")


def test_without_a_mode_everything_passes_on_one_connection(bench):
    assert bench.send() == OK
    port = bench.connection.sock.getsockname()[1]
    assert bench.send(iter([BODY[:100], BODY[100:]])) == OK
    assert bench.send(b"SELECT 1", "/") == OK
    assert bench.connection.sock.getsockname()[1] == port
    assert bench.server.bodies == [BODY, BODY, b"SELECT 1"]
    assert bench.traffic.landed() == 2, "a query is no insert"
    assert bench.traffic.landed(but_of=1) == 0


def test_refuse_breaks_inserts_and_queries(bench):
    mode = bench.under(modes.Refuse())
    assert bench.send() is None and bench.send(b"SELECT 1", "/") is None
    assert mode.strikes == 1, "of an insert"
    bench.in_force.remove(mode)
    assert bench.send() == OK
    assert bench.server.bodies == [BODY]


@pytest.mark.parametrize("body", [BODY, None], ids=["length", "chunks"])
@pytest.mark.parametrize("share", [0.01, 0.5, 0.95])
def test_a_cut_body_reaches_the_server_in_part(bench, share, body):
    mode = bench.under(modes.CutBody(share, 1))
    assert bench.send(body or iter([BODY[:20000], BODY[20000:]])) is None
    assert mode.strikes == 1
    time.sleep(0.1)
    assert bench.server.bodies == []
    assert bench.send() == OK, "it was to be cut once"


def test_a_lost_answer_is_of_an_insert_that_landed(bench):
    mode = bench.under(modes.LoseAnswer(2))
    assert bench.send() is None and bench.send() is None
    assert bench.send() == OK
    assert mode.strikes == 2 and len(bench.server.bodies) == 3 and bench.traffic.landed() == 3


def test_a_refusal_has_the_code_and_keeps_the_connection(bench):
    mode = bench.under(modes.Refusal(241, "MEMORY_LIMIT_EXCEEDED", 1))
    status, code, text = bench.send()
    assert (status, code) == (500, "241") and text.startswith(b"Code: 241. DB::Exception: ")
    assert bench.send() == OK
    assert mode.strikes == 1 and bench.server.bodies == [BODY]


def test_an_error_after_landing_has_landed(bench):
    bench.under(modes.RefusalAfterLanding(159, "TIMEOUT_EXCEEDED", 1))
    assert bench.send()[:2] == (500, "159")
    assert bench.server.bodies == [BODY] and bench.traffic.landed() == 1


def test_slow_answers_and_bodies_take_their_time(bench):
    for mode in (modes.SlowAnswer(0.4, 1), modes.SlowBody(0.4)):
        bench.under(mode)
        begin = time.monotonic()
        assert bench.send() == OK
        assert time.monotonic() - begin > 0.35 and mode.strikes == 1
        bench.in_force.remove(mode)


@pytest.mark.parametrize(
    ("stage", "landed"),
    [(modes.BEGUN, 0), (modes.BUFFERED, 0), (modes.BODY, 0), (modes.SENT, None), (modes.ANSWERED, 1), (modes.TOLD, 1)],
)
def test_a_moment_is_caught_at_its_stage_and_holds_the_insert(bench, stage, landed):
    seen = []

    def action(request):
        seen.append((str(request), bench.traffic.landed(), bench.traffic.under_way(), len(answers)))
        time.sleep(0.2)

    answers = []
    moment = bench.under(modes.Moment(stage, action, slot=1))
    begin = time.monotonic()
    thread = threading.Thread(target=lambda: answers.append(bench.send()))
    thread.start()
    assert moment.wait(1, 5)
    thread.join()
    assert answers == [OK] and bench.server.bodies == [BODY]
    ((name, had_landed, under_way, _),) = seen
    assert name == "insert of member 1 into flat_v2" and under_way == 1
    assert landed in (None, had_landed)
    if stage != modes.TOLD:
        assert time.monotonic() - begin > 0.2
    assert bench.send() == OK and len(seen) == 1, "once"


def test_a_moment_of_another_member_or_that_never_comes_is_missed(bench, monkeypatch):
    monkeypatch.setattr("chaos.moment._SECONDS", 0.2)

    class World:
        in_force = bench.in_force

    class Other:
        slot = 2

    threading.Timer(0.05, bench.send).start()
    with pytest.raises(Missed):
        at(World, modes.SENT, lambda _: None, Other)
    assert bench.send() == OK


def test_what_an_action_raises_comes_out(bench):
    class World:
        in_force = bench.in_force

    threading.Timer(0.05, bench.send).start()
    with pytest.raises(ZeroDivisionError):
        at(World, modes.SENT, lambda _: 1 // 0)


def test_a_client_that_dies_in_the_body_inserts_nothing(bench):
    head = f"POST {INSERT} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", bench.proxy.port)) as client:
        client.sendall(head + b"x" * 500)
    end = time.monotonic() + 5
    while bench.traffic.under_way() and time.monotonic() < end:
        time.sleep(0.02)
    assert bench.server.bodies == [] and bench.traffic.under_way() == 0
