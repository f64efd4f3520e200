-- What the account needs that runs the bootstrap: `run` and `schema apply`. {db} is the database. The rights of
-- ddl/roles/ingest.sql come on top where the same account also inserts. An administrator grants them: an account that
-- could make roles could give itself any right.
--
-- Some servers ask for more: TABLE ENGINE on each engine where `table_engines_require_grant` is on, SELECT on the tables of
-- `system` that docs/bootstrap.md lists where `select_from_system_db_requires_grant` is, and CLUSTER for a replicated
-- database.

GRANT CREATE DATABASE ON {db}.*;
GRANT CREATE TABLE ON {db}.*;
GRANT ALTER ADD COLUMN ON {db}.*;
GRANT ALTER MODIFY COLUMN ON {db}.*;
GRANT ALTER TTL ON {db}.*;
GRANT ALTER SETTINGS ON {db}.*;
GRANT DROP TABLE ON {db}.*;
GRANT SELECT ON {db}.*;
GRANT INSERT ON {db}.schema_migrations;
GRANT INSERT ON {db}.schema_lock;
