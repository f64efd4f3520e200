"""Statements without data: where they are given, parameters, settings, forms, replies."""

import struct
import zlib

import lz4.block
import pytest


def test_ping_and_greeting(front):
    for path in ("/ping", "/"):
        reply = front.send("GET", path)
        assert (reply.status, reply.body) == (200, b"Ok.\n")
    assert front.send("HEAD", "/ping").body == b""
    assert front.send("GET", "/nowhere").status == 404


def test_query_in_url_in_body_and_in_both(front):
    assert front.ok(method="GET", query="SELECT 1") == "1"
    assert front.ok(query="SELECT 2") == "2"
    assert front.ok("SELECT 3") == "3"
    assert front.ok("4, 5", query="SELECT") == "4\t5"


def test_headers_of_a_reply(front):
    headers = front.send(body="SELECT number FROM numbers(5)", query_id="mine").headers
    assert headers["X-ClickHouse-Query-Id"] == "mine"
    assert headers["X-ClickHouse-Server-Display-Name"] == front.name
    assert headers["X-ClickHouse-Timezone"]
    assert '"read_rows":"5"' in headers["X-ClickHouse-Summary"]
    headers = front.send(body="SELECT 1", query_id="a\r\nInjected: \u00e9").headers
    assert headers["X-ClickHouse-Query-Id"] == "a??Injected: ?"


def test_formats(front):
    assert front.ok("SELECT 1 AS a", default_format="JSONEachRow") == '{"a":1}'
    assert front.ok("SELECT 1 AS a FORMAT JSONEachRow", default_format="CSV") == '{"a":1}'
    assert front.send(body="SELECT 1 AS a", default_format="RowBinaryWithNamesAndTypes").body == b"\1\1a\5UInt8\1"
    assert front.send(body="SELECT 1 AS a", headers={"X-ClickHouse-Format": "Native"}).body == b"\1\1\1a\5UInt8\1"


def test_database(front):
    front.ok("CREATE DATABASE IF NOT EXISTS other")
    assert front.ok("SELECT currentDatabase()", database="other") == "other"
    assert front.ok("SELECT currentDatabase()", headers={"X-ClickHouse-Database": "other"}) == "other"
    assert front.ok("SELECT currentDatabase()") == "default"
    assert front.refused("SELECT 1", database="absent") == (404, 81)


def test_settings(front):
    assert front.ok("SELECT getSetting('max_threads')", max_threads=1) == "1"
    assert front.ok("SELECT getSetting('log_comment')", log_comment="it's a \\ test") == "it\\'s a \\\\ test"
    assert front.ok("SELECT getSetting('max_threads')", readonly=1, max_threads=1) == "1"
    # One request's settings are gone in the next.
    assert front.ok("SELECT getSetting('log_comment')") == ""
    assert front.ok("SELECT 1", wait_end_of_query=1, buffer_size=1, enable_http_compression=1) == "1"
    assert front.refused("SELECT 1", no_such_setting=1) == (404, 115)
    assert front.refused("SELECT 1", max_threads="many") == (400, 27)
    assert front.refused("1 + 1") == (400, 62)


def test_get_may_not_change_anything(front, table):
    assert front.refused(method="GET", query=f"DROP TABLE {table}") == (500, 164)
    assert front.refused(method="GET", query=f"INSERT INTO {table} VALUES (1, 'a')") == (500, 164)
    assert front.refused(f"INSERT INTO {table} VALUES (1, 'a')", readonly=1) == (500, 164)
    assert front.count(table) == 0


def test_parameters(front):
    assert front.ok("SELECT {x:UInt8} + {y:UInt8}", param_x=1, param_y=2) == "3"
    assert front.ok("SELECT {s:String}", param_s="it's \\t;\\n\\n here") == "it\\'s \\t;\\n\\n here"
    assert front.ok("SELECT {a:Array(String)}", param_a="['a','b']") == "['a','b']"
    assert front.ok("SELECT {n:Nullable(String)} IS NULL", param_n="\\N") == "1"
    assert front.ok("SELECT * FROM {f:Identifier}.{t:Identifier}", param_f="system", param_t="one") == "0"
    assert front.ok(b"SELECT hex('\xff\x00')") == "FF00"
    assert front.refused("SELECT {x:String}", param_x=b"\xff") == (400, 36)
    assert front.refused("SELECT {x:UInt8}") == (500, 456)
    assert front.refused("SELECT {x:UInt8}", param_x="one") == (500, 457)


def test_form(front):
    fields = {"query": "SELECT {x:String} || '\r\n--'", "param_x": "a\\tb", "max_threads": "1"}
    body = "".join(f'--edge\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n' for k, v in fields.items())
    headers = {"Content-Type": "multipart/form-data; boundary=edge"}
    assert front.ok(body + "--edge--\r\n", headers=headers) == "a\\tb\\r\\n--"
    assert front.ok(body + "--edge--\r\n", headers=headers, default_format="TSVRaw") == "a\tb\r\n--"


def test_compressed_reply(front):
    framed = front.send(body="SELECT number FROM numbers(500000)", compress=1).body
    plain = b""
    while framed:
        method, packed, size = struct.unpack("<BII", framed[16:25])
        assert method == 0x82
        plain += lz4.block.decompress(framed[25 : 16 + packed], uncompressed_size=size)
        framed = framed[16 + packed :]
    assert plain.split() == [b"%d" % n for n in range(500000)]


def test_query_in_a_compressed_body(front):
    gzip = zlib.compressobj(wbits=31)
    body = gzip.compress(b"SELECT 7") + gzip.flush()
    assert front.ok(body, headers={"Content-Encoding": "gzip"}) == "7"
    assert front.refused(body[:-9], headers={"Content-Encoding": "gzip"}) == (500, 33)
    assert front.refused(body, headers={"Content-Encoding": "br"}) == (500, 89)


def test_blank_lines_and_semicolons_inside(front, table):
    assert front.ok("SELECT 1,\n\n2;\n\n") == "1\t2"
    assert front.ok("SELECT ';\n\n;' -- ; SELECT 1\n /* ; */ ;") == ";\\n\\n;"
    front.ok(f"INSERT INTO {table}\n\nSELECT * FROM (\n\nSELECT 1, 'a')\n\n;")
    assert front.ok(f"SELECT * FROM {table}") == "1\ta"


@pytest.mark.parametrize("text", ["", "   \n\n ", "-- nothing", "/* nothing */"])
def test_empty_query(front, text):
    assert front.refused(text) == (400, 62)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1; SELECT 2",
        "SELECT 1;\n\n-- then\nSELECT 2;",
        "SET max_threads = 1; SELECT 1",
        "SELECT 1; INSERT INTO {t} VALUES (1, 'a')",
        "INSERT INTO {t} SELECT 1, 'a'; SELECT 2",
    ],
)
def test_several_statements(front, table, text):
    assert front.refused(text.replace("{t}", table)) == (400, 62)
    assert front.count(table) == 0


def test_outfile_and_infile(front, table, tmp_path):
    assert front.refused(f"SELECT 1 INTO OUTFILE '{tmp_path}/out'") == (500, 358)
    assert front.refused(f"INSERT INTO {table} FROM INFILE '/etc/passwd' FORMAT LineAsString") == (404, 78)


def test_a_long_statement(front):
    long = "SELECT '" + "x" * 2_000_000 + "'"
    assert front.refused(long) == (400, 62)
    assert len(front.ok(long, max_query_size=3_000_000)) == 2_000_000
