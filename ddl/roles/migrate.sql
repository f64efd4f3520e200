-- What the account needs that runs `migrate replay` and `migrate adopt`, besides ddl/roles/bootstrap.sql. `replay` places
-- records: the rights of ddl/roles/ingest.sql come on top. To bring back what `adopt` stopped, an administrator creates or
-- attaches it.

GRANT INSERT ON {db}.xtcp_flat_records_replayed;
GRANT DROP VIEW ON {db}.*;
