-- What the account needs that runs the bootstrap: `run` and `schema apply`. {db} is the database. The rights of
-- ddl/roles/ingest.sql come on top where the same account also inserts. An administrator grants them: an account that
-- could make roles could give itself any right.

GRANT SHOW DATABASES, SHOW TABLES, SHOW COLUMNS ON {db}.*;
GRANT CREATE DATABASE ON {db}.*;
GRANT CREATE TABLE ON {db}.*;
GRANT CREATE VIEW ON {db}.*;
GRANT TABLE ENGINE ON MergeTree;
GRANT TABLE ENGINE ON ReplacingMergeTree;
GRANT TABLE ENGINE ON Merge;
GRANT ALTER ADD COLUMN ON {db}.*;
GRANT ALTER MODIFY COLUMN ON {db}.*;
GRANT ALTER TTL ON {db}.*;
GRANT ALTER SETTINGS ON {db}.*;
GRANT DROP TABLE ON {db}.*;
GRANT DROP VIEW ON {db}.*;
GRANT SELECT ON {db}.*;
GRANT INSERT ON {db}.schema_migrations;
GRANT INSERT ON {db}.schema_lock;
