-- All epochs under the names and labels of the newest.
--
-- {db} is the database. {epochs} is made from the definitions: one SELECT for each epoch, in which a column that was
-- renamed is followed back by `was`, an enum keeps its number and takes the newest label, and a column that the epoch
-- lacks is the default of its type.

CREATE OR REPLACE VIEW {db}.xtcp_flat_records_unified AS
{epochs}
