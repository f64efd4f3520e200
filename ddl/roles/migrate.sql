-- What the account needs that runs `migrate replay`, besides ddl/roles/bootstrap.sql; as it places records, the rights of
-- ddl/roles/ingest.sql come on top. `migrate adopt` stops tables and views by DROP TABLE, which the bootstrap has. To bring
-- back what it stopped, an administrator attaches or creates it.

GRANT INSERT ON {db}.xtcp_flat_records_replayed;
