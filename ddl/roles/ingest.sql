-- What the account needs that inserts, when the bootstrap is another account's work (bootstrap.tables = false).

GRANT SHOW COLUMNS ON {db}.*;
GRANT INSERT ON {db}.xtcp_flat_records_v0;
GRANT INSERT ON {db}.xtcp_flat_records_v1;
GRANT INSERT ON {db}.xtcp_flat_records_v2;
GRANT INSERT ON {db}.xtcp_flat_records_errors;
-- A server that is killed may know a block that it doesn't have. It is looked for by its first row, which is handed over
-- through a table function, and those ask for CREATE TEMPORARY TABLE.
GRANT CREATE TEMPORARY TABLE ON *.*;
GRANT SELECT ON {db}.xtcp_flat_records_v0;
GRANT SELECT ON {db}.xtcp_flat_records_v1;
GRANT SELECT ON {db}.xtcp_flat_records_v2;
GRANT SELECT ON {db}.xtcp_flat_records_errors;
GRANT INSERT ON {db}.xtcp_ingest_probe;
GRANT SELECT ON {db}.xtcp_ingest_probe;
