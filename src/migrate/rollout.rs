//! The way of a new epoch, or of more columns, onto a server: table, Merge table, view, and what the operator does next.
//!
//! It is a pass of the bootstrap over these objects alone: the same planner, lease and ledger. Every step may be done again.

use serde::Deserialize;
use serde_json::{Value, json};

use super::replay::Marks;
use crate::{
    bootstrap::{Body, Catalogue, Definitions, ERRORS, LEASE, LEDGER, Object},
    clickhouse::{Client, Error, quoted},
    epoch::{Epoch, Registry},
    lane::Reason,
};

/// Whether an object is a part of a rollout: what holds records, what reads all of them, and the bookkeeping.
#[must_use]
pub fn is_part(object: &Object) -> bool {
    let id = object.entry.id.value.as_str();
    matches!(object.body, Body::Database | Body::Epoch(_) | Body::Merge(_) | Body::View(_))
        || [LEDGER, LEASE].contains(&id)
}

/// Records that were diverted because their epoch had no definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Waiting {
    /// The `schema_version` of the records.
    pub schema_version: u32,
    /// How many rows of the error table.
    pub rows: u64,
}

/// Counts those that weren't replayed, by epoch; `None` without an error table.
///
/// # Errors
/// When ClickHouse can't be asked.
pub async fn waiting(client: &Client, definitions: &Definitions) -> Result<Option<Vec<Waiting>>, Error> {
    let table = &definitions.errors().name;
    debug_assert!(definitions.objects.iter().any(|object| object.entry.id.value == ERRORS));
    if !Catalogue::read_one(client, client.database(), table).await?.has(table) {
        return Ok(None);
    }
    let marks = Marks::new(client);
    let replayed = match marks.are_there().await? {
        true => format!(
            "AND (topic, partition, offset, record, byte_offset, cityHash64(raw_message)) NOT IN {}",
            marks.identities("topic, partition, offset, record, byte_offset, hash")
        ),
        false => String::new(),
    };
    let sql = format!(
        "SELECT schema_version, count() AS rows FROM {}.{} WHERE reason = {{reason:String}} {replayed} \
         GROUP BY schema_version ORDER BY schema_version",
        quoted(client.database()),
        quoted(table)
    );
    Ok(Some(client.query(&sql, &[("reason", Reason::UnknownEpoch.code())]).await?))
}

/// A column of the newest epoch that is called or numbered otherwise than in the epoch before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// The name now.
    pub name: String,
    /// The name before.
    pub was: String,
    /// The number of its field before and now.
    pub numbers: (Option<u32>, Option<u32>),
}

/// The columns that move with the newest epoch; none when there is no epoch before it.
#[must_use]
pub fn moves(registry: &Registry) -> Vec<Move> {
    let [.., before, newest] = registry.epochs() else { return Vec::new() };
    between(before, newest)
}

fn between(before: &Epoch, newest: &Epoch) -> Vec<Move> {
    let number = |epoch: &Epoch, column: usize| {
        let field = epoch.layouts.last()?.fields.iter().find(|field| field.column == column)?;
        Some(field.number)
    };
    let column = |(at, column): (usize, &crate::epoch::Column)| {
        let was = column.was.as_ref().unwrap_or(&column.name);
        let numbers = (number(before, before.column(was)?), number(newest, at));
        let moves = column.was.is_some() || numbers.0 != numbers.1;
        moves.then(|| Move { name: column.name.clone(), was: was.clone(), numbers })
    };
    newest.columns.iter().enumerate().filter_map(column).collect()
}

impl Waiting {
    /// As `--json` shows it.
    #[must_use]
    pub fn json(&self, registry: &Registry) -> Value {
        json!({
            "schema_version": self.schema_version,
            "rows": self.rows,
            "is_defined": registry.get(self.schema_version).is_some(),
        })
    }
}

impl Move {
    /// As `--json` shows it.
    #[must_use]
    pub fn json(&self) -> Value {
        json!({ "name": self.name, "was": self.was, "number_before": self.numbers.0, "number": self.numbers.1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_s_moves_are_named() {
        let registry = crate::epoch::load::embedded().expect("sound definitions");
        let epoch = |number| registry.get(number).expect("a known epoch");
        let moves = between(epoch(1), epoch(2));
        assert_eq!(moves.len(), 21);
        let renumbered = moves.iter().filter(|m| m.numbers.0 != m.numbers.1);
        let names: Vec<(&str, &str)> = renumbered.map(|m| (m.name.as_str(), m.was.as_str())).collect();
        assert_eq!(
            names,
            [
                ("enrich_socket_dest_egress_ifindex", "enrich_socket_dest_egress_ifindex"),
                ("enrich_socket_dest_egress_ifname", "enrich_socket_dest_egress_ifname"),
                ("inet_diag_cgroup_id", "c_group"),
            ]
        );
    }

    #[test]
    fn topics_and_other_tables_are_no_part_of_a_rollout() {
        let definitions = Definitions::embedded().expect("sound definitions");
        let parts: Vec<&str> =
            definitions.objects.iter().filter(|o| is_part(o)).map(|o| o.entry.id.value.as_str()).collect();
        let epochs: Vec<String> =
            definitions.registry.epochs().iter().map(|epoch| format!("data.flat_v{}", epoch.number)).collect();
        let epochs: Vec<&str> = epochs.iter().map(String::as_str).collect();
        let expected = [vec!["db.data", LEDGER, LEASE], epochs, vec!["data.flat_merge", "data.flat_unified"]];
        assert_eq!(parts, expected.concat());
    }
}
