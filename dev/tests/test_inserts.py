"""INSERT with data: where statement and data are, formats, compression, what fails, what is counted."""

import io
import struct
import threading
import zlib
from pathlib import Path

import pytest
import zstandard
from front import framing
from native import block

NATIVE = block(n=[1, 2, 3], s=["a", "b\n\nSELECT 1;", "c"])


@pytest.fixture
def insert(table):
    return f"INSERT INTO {table} (n, s) FORMAT Native"


def test_statement_in_the_url(front, table, insert):
    reply = front.send(body=NATIVE, query=insert)
    assert (reply.status, reply.written, reply.body) == (200, 3, b"")
    assert front.ok(f"SELECT n, s FROM {table} ORDER BY n") == "1\ta\n2\tb\\n\\nSELECT 1;\n3\tc"


def test_statement_in_front_of_the_data(front, table, insert):
    for number, between in enumerate((b"\n", b" ", b" \t\n", b";\r\n", b"; ")):
        front.ok(insert.encode() + between + block(n=[number, 10], s=["\n\n", ";"]))
    assert front.count(table) == 10


def test_data_that_looks_like_sql(front, table, insert):
    """The engine cuts a query at the first blank line and runs the rest: that must never happen to data."""
    texts = [f"\n\nDROP TABLE {table};\n\n", "'", '"', "`", "/*", "--", ";", "\n\n" * 50]
    front.ok(block(n=[10] * len(texts), s=texts), query=insert)  # 10 is a line end in every number
    front.ok(f"INSERT INTO {table} FORMAT TSV\n1\ta\n\n", input_format_allow_errors_num=5)
    assert int(front.ok(f"SELECT uniqExact(s) FROM {table} WHERE n = 10")) == len(texts)


def test_chunked_body(front, table, insert):
    pieces = (NATIVE[at : at + 7] for at in range(0, len(NATIVE), 7))
    assert front.send(body=pieces, query=insert, headers={"Transfer-Encoding": "chunked"}).written == 3
    assert front.count(table) == 3


def test_a_large_body(front, table, insert):
    rows = 60_000
    body = block(n=list(range(rows)), s=["some text\n\n" * 20] * rows)
    assert front.send(body=insert.encode() + b"\n" + body, max_insert_block_size=rows).written == rows
    assert front.ok(f"SELECT count(), sum(n), min(length(s)) FROM {table}") == f"{rows}\t{rows * (rows - 1) // 2}\t220"


def test_one_insert_is_one_part(front, table, insert):
    rows = 200_000
    settings = {"max_insert_block_size": rows, "min_insert_block_size_rows": 0, "min_insert_block_size_bytes": 0}
    front.ok(block(n=list(range(rows)), s=["x"] * rows), query=insert, **settings)
    front.ok("SYSTEM FLUSH LOGS")
    log = f"SELECT count(), sum(rows) FROM system.part_log WHERE table = '{table}' AND event_type = 'NewPart'"
    assert front.ok(log) == f"1\t{rows}"


def framed(method, data, at=0):
    packed = {framing.NONE: lambda: data, framing.ZSTD: lambda: zstandard.compress(data)}[method]()
    return framing.frame(method, packed, len(data))


def test_compressed_framing(front, table, insert):
    lz4 = b"".join(framing.compress(NATIVE))
    half = len(NATIVE) // 2
    mixed = framed(framing.NONE, NATIVE[:half]) + framed(framing.ZSTD, NATIVE[half:])
    for token, body in enumerate((lz4, mixed, framed(framing.ZSTD, NATIVE))):
        front.ok(body, query=insert, decompress=1, insert_deduplication_token=token)
    assert front.count(table) == 9
    statement_too = b"".join(framing.compress(insert.encode() + b"\n" + NATIVE))
    assert front.send(body=statement_too, decompress=1).written == 3


def test_framing_is_the_engines_own(front, table):
    """The engine keeps columns on disk in the same framing, so its files tell whether ours is right."""
    front.ok(f"ALTER TABLE {table} MODIFY SETTING min_bytes_for_wide_part = 0")
    front.ok(f"INSERT INTO {table} SELECT number, '' FROM numbers(100000)")
    part = Path(front.ok(f"SELECT path FROM system.parts WHERE table = '{table}' AND active"))
    file = io.BytesIO((part / "n.bin").read_bytes())
    plain = b"".join(iter(framing.Decompressed(file).read, b""))
    assert plain == struct.pack("<100000I", *range(100000))


def test_broken_framing(front, table, insert):
    body = bytearray(b"".join(framing.compress(NATIVE)))
    body[-1] ^= 1
    assert front.refused(bytes(body), query=insert, decompress=1) == (500, 40)
    body[-1] ^= 1
    assert front.refused(bytes(body[:-3]), query=insert, decompress=1) == (500, 33)
    assert front.refused(NATIVE * 9, query=insert, decompress=1)[1] in (40, 271)
    assert front.refused(framed(framing.NONE, b"x" * 99).replace(b"\x02", b"\x03", 1), query=insert, decompress=1)
    assert front.count(table) == 0


def test_gzip_body(front, table, insert):
    gzip = zlib.compressobj(wbits=31)
    body = gzip.compress(NATIVE) + gzip.flush()
    assert front.send(body=body, query=insert, headers={"Content-Encoding": "gzip"}).written == 3


def test_text_formats(front, table):
    front.ok("1\ta\n2\tb\n", query=f"INSERT INTO {table} FORMAT TSV")
    front.ok(f'INSERT INTO {table} FORMAT JSONEachRow {{"n": 3, "s": "c"}}\n{{"n": 4, "s": "d"}}')
    front.ok("5,e", query=f"INSERT INTO {table} FORMAT CSV")
    assert front.ok(f"SELECT groupArray(n), groupArray(s) FROM (SELECT * FROM {table} ORDER BY n)") == (
        "[1,2,3,4,5]\t['a','b','c','d','e']"
    )


def test_values(front, table):
    front.ok(f"INSERT INTO {table} VALUES (1, 'a;b'), (2, 'it\\'s'), (3, concat('\n\n', 'x')); ")
    front.ok(f"insert into {table} (s, n) values ('d', 4)")
    front.ok("(5, 'e')", query=f"INSERT INTO {table} VALUES")
    front.ok(", (7, 'g')", query=f"INSERT INTO {table} VALUES (6, 'f')")
    assert front.ok(f"SELECT sum(n), count() FROM {table}") == "28\t7"
    assert front.refused(f"INSERT INTO {table} VALUES (8, 'h'); DROP TABLE {table}") == (500, 33)
    assert front.count(table) == 7


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO TABLE {t} FORMAT Native",
        "INSERT INTO default.{t} FORMAT Native",
        'INSERT INTO `default`.`{t}` (`n`, "s") FORMAT Native',
        "INSERT INTO {d:Identifier}.{x:Identifier} FORMAT Native",
        "INSERT INTO {t} SETTINGS max_insert_block_size = 5, log_comment = 'VALUES FORMAT' FORMAT Native",
        "/* FORMAT TSV */ INSERT INTO {t} -- VALUES\n (n, s) -- FORMAT CSV\n FORMAT Native",
        "INSERT INTO {t} (* EXCEPT(s)) FORMAT Native",
    ],
)
def test_forms_of_the_statement(front, table, statement):
    body = block(n=[1, 2, 3]) if "EXCEPT" in statement else NATIVE
    front.ok(body, query=statement.replace("{t}", table), param_d="default", param_x=table)
    assert front.count(table) == 3


def test_a_table_with_the_name_of_a_keyword(front):
    for name in ("format", "values", "settings"):
        front.create_table(name)
        front.ok(NATIVE, query=f"INSERT INTO {name} FORMAT Native")
        front.ok(f"INSERT INTO default.{name} VALUES (4, 'd')")
        front.ok("INSERT INTO {d:Identifier}." + name + " VALUES (5, 'e')", param_d="default")
        assert front.count(name) == 5
        front.ok(f"DROP TABLE {name} SYNC")


def test_no_data(front, table, insert):
    assert front.send(query=insert).written == 0
    assert front.send(body=f"INSERT INTO {table} VALUES").written == 0


def test_deduplication_token(front, table, insert):
    for _ in range(3):
        front.ok(NATIVE, query=insert, insert_deduplication_token="one")
    assert front.count(table) == 3
    front.ok(NATIVE, query=insert, insert_deduplication_token="two")
    assert front.count(table) == 6


def test_what_the_server_refuses(front, table, insert):
    violated = block(n=[1, 1_000_000], s=["a", "b"])
    assert front.refused(violated, query=insert) == (500, 469)
    assert front.refused(NATIVE, query="INSERT INTO absent FORMAT Native") == (404, 60)
    assert front.refused(NATIVE, query="INSERT INTO absent.t FORMAT Native") == (404, 81)
    assert front.refused(NATIVE, query=f"INSERT INTO {table} (x) FORMAT Native") == (500, 16)
    assert front.refused(NATIVE, query=f"INSERT INTO {table} FORMAT Nonsense") == (404, 73)
    assert front.refused(NATIVE, query=f"INSERT INTO {table}") == (400, 62)
    assert front.refused(NATIVE[:-2], query=insert) == (500, 33)
    assert front.refused("1\tx\nno\ty\n", query=f"INSERT INTO {table} FORMAT TSV") == (400, 27)
    assert front.count(table) == 0


def test_too_many_parts(front, table, insert):
    front.ok(f"ALTER TABLE {table} MODIFY SETTING parts_to_throw_insert = 1, parts_to_delay_insert = 1")
    front.ok("SYSTEM STOP MERGES " + table)
    codes = {front.send(body=NATIVE, query=insert).code for _ in range(4)}
    assert codes == {None, 252}


def test_a_failing_view_is_told(front, table, insert):
    front.ok(f"CREATE MATERIALIZED VIEW v_{table} ENGINE = Memory AS SELECT throwIf(n = 2) AS x FROM {table}")
    assert front.refused(NATIVE, query=insert) == (500, 395)
    front.ok(f"DROP TABLE v_{table} SYNC")


def test_four_at_once(front, table, insert):
    def run(start):
        rows = list(range(start * 50_000, (start + 1) * 50_000))
        front.ok(block(n=rows, s=["x" * 100] * len(rows)), query=insert)

    threads = [threading.Thread(target=run, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert front.ok(f"SELECT count(), uniqExact(n), max(n) FROM {table}") == "200000\t200000\t199999"


def test_protobuf_with_a_schema_in_a_setting(front, table):
    schema = "syntax = 'proto3'; message M { uint32 n = 1; string s = 2; }"
    settings = {"format_schema_source": "string", "format_schema": schema, "format_schema_message_name": "M"}
    record = b"\x08\x05\x12\x01A"
    body = bytes([len(record) + 2, 0x0A, len(record)]) + record
    front.ok(body, query=f"INSERT INTO {table} FORMAT ProtobufList", **settings)
    assert front.ok(f"SELECT * FROM {table}") == "5\tA"
