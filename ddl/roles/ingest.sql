-- What the account needs that inserts, when the bootstrap is another account's work (bootstrap.tables = false).

GRANT SHOW COLUMNS ON {db}.*;
GRANT INSERT ON {db}.xtcp_flat_records_v0;
GRANT INSERT ON {db}.xtcp_flat_records_v1;
GRANT INSERT ON {db}.xtcp_flat_records_v2;
GRANT INSERT ON {db}.xtcp_flat_records_errors;
GRANT INSERT ON {db}.xtcp_ingest_probe;
GRANT SELECT ON {db}.xtcp_ingest_probe;
