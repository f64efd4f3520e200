//! What is stopped, in which order, and the way back.
//!
//! The reader stops first, in one step, and its views after it. Were a view stopped first, the reader would go on and lose
//! what was that view's. For the same reason it comes back last.

use super::topology::Topology;
use crate::clickhouse::quoted;

/// How something is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// It stays on the server, and isn't attached when that starts anew.
    Detach,
    /// It is gone.
    Drop,
}

/// A reader or a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Whether it is a reader.
    pub is_reader: bool,
    /// The statement that made it.
    pub create: String,
}

impl How {
    /// What was done, in the ledger.
    #[must_use]
    pub const fn done(self) -> &'static str {
        match self {
            Self::Detach => "detached",
            Self::Drop => "dropped",
        }
    }
}

impl Topology {
    /// What is stopped, in its order.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let part =
            |name: &str, create: &str, is_reader| Part { name: name.to_owned(), is_reader, create: create.to_owned() };
        let readers = self.readers.iter().map(|reader| part(&reader.name, &reader.create, true));
        readers.chain(self.feeds.iter().map(|feed| part(&feed.name, &feed.create, false))).collect()
    }
}

impl Part {
    /// The statement that stops it.
    #[must_use]
    pub fn stop(&self, database: &str, how: How) -> String {
        let name = format!("{}.{}", quoted(database), quoted(&self.name));
        match how {
            How::Detach => format!("DETACH TABLE {name} PERMANENTLY SYNC"),
            How::Drop => format!("DROP TABLE {name} SYNC"),
        }
    }

    /// The statement that brings it back.
    #[must_use]
    pub fn restore(&self, database: &str, how: How) -> String {
        match how {
            How::Detach => format!("ATTACH TABLE {}.{}", quoted(database), quoted(&self.name)),
            How::Drop if self.is_reader => self.create.clone(),
            // Created, it would need what it reads, which must come last.
            How::Drop => attached(&self.create),
        }
    }
}

/// The statements that bring parts back, the readers last.
#[must_use]
pub fn restores(parts: &[(Part, How)], database: &str) -> Vec<String> {
    let of = |is_reader: bool| parts.iter().filter(move |(part, _)| part.is_reader == is_reader);
    of(false).chain(of(true)).map(|(part, how)| part.restore(database, *how)).collect()
}

/// `CREATE MATERIALIZED VIEW a.b TO …` as the statement that attaches it without looking at what it reads.
fn attached(create: &str) -> String {
    match create.strip_prefix("CREATE ").and_then(|rest| rest.split_once(" TO ")) {
        Some((object, rest)) if object.starts_with("MATERIALIZED VIEW ") => {
            format!("ATTACH {object} UUID '{}' TO {rest}", uuid(rand::random()))
        }
        _ => create.to_owned(),
    }
}

/// A random UUID, version 4.
fn uuid(bits: u128) -> String {
    let bits = bits & !(0xf << 76) & !(0x3 << 62) | 4 << 76 | 2 << 62;
    let digits = format!("{bits:032x}");
    format!("{}-{}-{}-{}-{}", &digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..])
}

#[cfg(test)]
mod tests {
    use super::{super::topology::tests::topology, *};

    fn ways(how: How) -> (Vec<String>, Vec<String>) {
        let parts = topology().parts();
        let stops = parts.iter().map(|part| part.stop("d", how)).collect();
        let parts: Vec<(Part, How)> = parts.into_iter().map(|part| (part, how)).collect();
        (stops, restores(&parts, "d"))
    }

    #[test]
    fn the_reader_stops_first_and_comes_back_last() {
        let (stops, back) = ways(How::Detach);
        assert_eq!(stops, ["DETACH TABLE `d`.`r` PERMANENTLY SYNC", "DETACH TABLE `d`.`v` PERMANENTLY SYNC"]);
        assert_eq!(back, ["ATTACH TABLE `d`.`v`", "ATTACH TABLE `d`.`r`"]);
        let (stops, back) = ways(How::Drop);
        assert_eq!(stops, ["DROP TABLE `d`.`r` SYNC", "DROP TABLE `d`.`v` SYNC"]);
        let (view, reader) = (&back[0], &back[1]);
        assert!(view.starts_with("ATTACH MATERIALIZED VIEW d.v UUID '"), "{view}");
        assert!(view.contains("' TO d.xtcp_flat_records_v2 (`a` UInt8) AS SELECT * FROM d.r WHERE "), "{view}");
        assert!(reader.starts_with("CREATE TABLE d.r "), "{reader}");
    }

    #[test]
    fn a_uuid_has_its_form() {
        assert_eq!(uuid(0), "00000000-0000-4000-8000-000000000000");
        assert_eq!(uuid(u128::MAX), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }
}
