//! Which releases of the definitions a server was given.

use serde::Deserialize;

use super::definitions::{Definitions, LEDGER};
use crate::clickhouse::{Client, Error, quoted};

#[derive(Deserialize)]
struct Row {
    release: String,
}

/// The newest release that was applied to the client's database, where it is newer than these definitions. Releases that are
/// no numbers are not compared.
///
/// # Errors
/// When ClickHouse can't be asked, or the account may not read the ledger.
pub async fn newer_release(client: &Client, definitions: &Definitions) -> Result<Option<String>, Error> {
    let ledger = definitions.objects.iter().find(|object| object.entry.id.value == LEDGER);
    let Some(ledger) = ledger.and_then(|ledger| definitions.table(ledger)) else { return Ok(None) };
    let sql = format!(
        "SELECT DISTINCT toString(schemas_version) AS release FROM {}.{} WHERE database = {{database:String}}",
        quoted(client.database()),
        quoted(&ledger.name)
    );
    let rows: Vec<Row> = client.query(&sql, &[("database", client.database())]).await?;
    Ok(newer(&definitions.manifest.release, rows.into_iter().map(|row| row.release)))
}

fn newer(own: &str, applied: impl Iterator<Item = String>) -> Option<String> {
    let own: u64 = own.parse().ok()?;
    let numbers = applied.filter_map(|release| release.parse::<u64>().ok());
    numbers.max().filter(|newest| *newest > own).map(|newest| newest.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_newer_release_counts() {
        let of = |own: &str, applied: &[&str]| newer(own, applied.iter().map(|release| (*release).to_owned()));
        assert_eq!(of("2", &["1", "10", "9", "x"]).as_deref(), Some("10"));
        for (own, applied) in [("10", &["9", "10"][..]), ("2", &[]), ("2", &["2.1"]), ("x", &["3"])] {
            assert_eq!(of(own, applied), None, "{own} {applied:?}");
        }
    }
}
