//! Whether a block is there of which the server may know the token alone.
//!
//! # Design
//! Where nothing is replicated a token and its rows are written one after the other, and a server that is killed, or whose
//! memory or disk ends, in between has the one without the other. So where that may have happened its word is not taken for
//! it. Replicated tables write both in one step.

use bytes::Bytes;

use crate::{
    bootstrap::Clauses,
    clickhouse::{Client, Error, Sought},
    lane::Target,
};

/// Whether the table has all rows of `samples`, as [`crate::lane::Block::samples`], that it hasn't let go for their age. True
/// for tables whose word is taken.
///
/// # Errors
/// When the server can't be asked, or doesn't say.
pub(super) async fn is_there(client: &Client, target: &Target, samples: &[Bytes]) -> Result<bool, Error> {
    let Some(clauses) = client.engine(&target.table).await?.map(|engine| Clauses::parse(&engine)) else {
        return Ok(true);
    };
    // In other engines of the family a row may be there in another form than it came.
    if clauses.engine != "MergeTree" {
        return Ok(true);
    }
    let identity = &target.identity;
    let names = |columns: &[usize]| columns.iter().map(|column| target.name(*column)).collect::<Vec<_>>();
    let (columns, selective) = (names(&identity.columns), names(&identity.selective));
    let living = identity.leaves_by.and_then(|column| living(&clauses.ttl, target.name(column)));
    for row in samples {
        let sought = Sought { table: &target.table, columns: &columns, selective: &selective, row };
        if client.has_row(&sought).await? {
            continue;
        }
        let is_asked_for = match &living {
            None => true,
            Some(living) => client.is_true_of(row, living).await?,
        };
        if is_asked_for {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What is true of a row that a table with this TTL has kept. `None` if none has left for its age, or the TTL is another one
/// than this service declares.
fn living(ttl: &str, column: &str) -> Option<String> {
    let is_plain = ttl.contains(column) && !ttl.contains(['\'', ';']) && !ttl.contains(" WHERE ");
    let first = ttl.split(", ").next().filter(|_| is_plain)?;
    let expression = first.strip_suffix(" DELETE").unwrap_or(first);
    Some(format!("{expression} > now()"))
}

#[cfg(test)]
mod tests {
    use super::living;

    #[test]
    fn a_row_lives_by_the_ttl_of_its_table() {
        let ttl = "toDateTime(at) + toIntervalDay(31)";
        let expected = Some(format!("{ttl} > now()"));
        assert_eq!(living(ttl, "at"), expected);
        assert_eq!(living(&format!("{ttl} DELETE, other + toIntervalDay(1)"), "at"), expected);
        assert_eq!(living("", "at"), None);
        assert_eq!(living("toDateTime(other) + toIntervalDay(31)", "at_all"), None);
        assert_eq!(living(&format!("{ttl} WHERE x = 1"), "at"), None);
    }
}
