"""`make compare`: what a row costs ClickHouse alone and what it costs with xtcp-ingest before it."""
