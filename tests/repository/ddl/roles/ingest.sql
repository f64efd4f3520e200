-- What the account needs that inserts.

GRANT INSERT ON {db}.xtcp_flat_records_v0;
GRANT INSERT ON {db}.xtcp_flat_records_v1;
GRANT INSERT ON {db}.xtcp_flat_records_v2;
