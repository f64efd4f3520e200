"""The wire below the requests: keep-alive, 100-continue, clients that go away, more clients than the engine takes."""

import threading
import time

from native import block

NATIVE = block(n=[1, 2, 3], s=["a", "b", "c"])


def test_keep_alive(front, table):
    connection = front.connect()
    for number in range(20):
        assert front.ok(f"SELECT {number}", connection=connection) == str(number)
        # An error must not end the connection, whether or not the body was read by then.
        front.refused(NATIVE * 10_000, query="INSERT INTO absent FORMAT Native", connection=connection)
        front.refused(NATIVE * 10_000, query="SELECT 1", user="nobody", connection=connection)
        socket = connection.sock
        front.ok(block(n=[number], s=["a"]), query=f"INSERT INTO {table} FORMAT Native", connection=connection)
        assert connection.sock is socket, "the server closed the connection"
    assert front.count(table) == 20


def test_expect_continue(front):
    with front.socket() as connection:
        head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\nExpect: 100-continue\r\n\r\n"
        connection.sendall(head)
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"SELECT 1")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 OK\r\n")
        # Refused before the body is sent: the reply comes at once, and the body is never asked for.
        connection.sendall(head.replace(b"POST /", b"POST /?user=nobody"))
        assert connection.recv(65536).startswith(b"HTTP/1.1 403 Forbidden\r\n")


def test_client_that_goes_away_inserts_nothing(front, table):
    insert = f"/?query=INSERT+INTO+{table}+FORMAT+TSV"
    rows = b"1\ta\n" * 500_000
    chunk = b"%x\r\n%s\r\n" % (len(rows), rows)
    for framing, body in (
        (b"Content-Length: 10000000", rows),
        (b"Transfer-Encoding: chunked", chunk),
        (b"Transfer-Encoding: chunked", chunk + b"8\r\n2\tb\n"),
    ):
        with front.socket() as connection:
            connection.sendall(b"POST " + insert.encode() + b" HTTP/1.1\r\nHost: x\r\n" + framing + b"\r\n\r\n" + body)
            assert wait_for(lambda: len(front.spooled()) == 1)
        assert wait_for(lambda: not front.spooled())
    assert front.count(table) == 0


def wait_for(condition):
    end = time.monotonic() + 10
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def test_more_clients_than_the_engine_takes(front):
    failures = []

    def ask():
        try:
            assert front.ok("SELECT sleep(0.2)") == "0"
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(40)]
    start = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert time.monotonic() - start >= 0.9, "40 of 0.2 s, 8 at a time"
    assert front.send("GET", "/ping").status == 200


def test_requests_in_a_row_without_waiting(front):
    request = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\nSELECT "
    with front.socket() as connection:
        connection.sendall(
            request + b"1" + request + b"2" + request.replace(b"Host", b"Connection: close\r\nHost") + b"3"
        )
        received = b""
        while True:
            more = connection.recv(65536)
            if not more:
                break
            received += more
    assert received.count(b"HTTP/1.1 200 OK") == 3
    assert received.endswith(b"\r\n\r\n3\n")
