"""The real ClickHouse engine (chDB) behind ClickHouse's HTTP interface, for development and tests."""
