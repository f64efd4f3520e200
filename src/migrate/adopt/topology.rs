//! What of the ClickHouse-only topology is on the server.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::clickhouse::{Client, Error};

/// A table with the Kafka engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reader {
    /// Its name.
    pub name: String,
    /// Its settings by name: `kafka_topic_list`, `kafka_group_name` and the rest.
    pub settings: BTreeMap<String, String>,
    /// Its columns.
    pub columns: Vec<String>,
    /// The statement that made it.
    pub create: String,
}

/// A materialized view of a reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feed {
    /// Its name.
    pub name: String,
    /// What it reads.
    pub reader: String,
    /// Where it writes.
    pub target: String,
    /// Its query.
    pub query: String,
    /// The statement that made it.
    pub create: String,
}

/// What of the topology is on the server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Topology {
    /// Readers, by name.
    pub readers: Vec<Reader>,
    /// Their views, by name. Views whose reader was stopped before are among them.
    pub feeds: Vec<Feed>,
}

#[derive(Deserialize)]
struct Row {
    name: String,
    engine: String,
    engine_full: String,
    create_table_query: String,
    as_select: String,
    source: String,
    target: String,
}

#[derive(Deserialize)]
struct TableName {
    name: String,
}

#[derive(Deserialize)]
struct ColumnName {
    table: String,
    name: String,
}

const OBJECTS: &str = "SELECT name, engine, engine_full, create_table_query, as_select, \
    replaceAll(extract(as_select, ' FROM ([^ ]+)'), '`', '') AS source, \
    replaceAll(extract(create_table_query, ' TO ([^ ]+)'), '`', '') AS target \
    FROM system.tables WHERE database = {database:String} AND engine IN ('Kafka', 'MaterializedView') ORDER BY name";
const TABLES: &str = "SELECT name FROM system.tables WHERE database = {database:String}";
const COLUMNS: &str = "SELECT table, name FROM system.columns WHERE database = {database:String} AND table IN \
    (SELECT name FROM system.tables WHERE database = {database:String} AND engine = 'Kafka') ORDER BY table, position";

impl Topology {
    /// Looks for it in the client's database.
    ///
    /// # Errors
    /// When ClickHouse can't be asked.
    pub async fn find(client: &Client) -> Result<Self, Error> {
        let database = client.database();
        let parameters = [("database", database)];
        let rows: Vec<Row> = client.query(OBJECTS, &parameters).await?;
        let tables: Vec<TableName> = client.query(TABLES, &parameters).await?;
        let tables: BTreeSet<String> = tables.into_iter().map(|row| row.name).collect();
        let columns: Vec<ColumnName> = client.query(COLUMNS, &parameters).await?;
        let own = |name: &str| name.strip_prefix(database).and_then(|rest| rest.strip_prefix('.')).map(str::to_owned);
        let mut found = Self::default();
        for row in rows {
            if row.engine == "Kafka" {
                let of_it = columns.iter().filter(|column| column.table == row.name);
                let columns = of_it.map(|column| column.name.clone()).collect();
                let settings = settings(&row.engine_full);
                found.readers.push(Reader { name: row.name, settings, columns, create: row.create_table_query });
                continue;
            }
            let (Some(reader), Some(target)) = (own(&row.source), own(&row.target)) else { continue };
            let (query, create) = (row.as_select, row.create_table_query);
            found.feeds.push(Feed { name: row.name, reader, target, query, create });
        }
        let readers = &found.readers;
        // One that reads another table is somebody's own; one that reads nothing any more was a reader's.
        found.feeds.retain(|feed| readers.iter().any(|r| r.name == feed.reader) || !tables.contains(&feed.reader));
        Ok(found)
    }

    /// Whether there is nothing to take over.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.readers.is_empty() && self.feeds.is_empty()
    }

    /// The group that the reader reads in.
    #[must_use]
    pub fn group(&self) -> Option<&str> {
        self.readers.first().and_then(|reader| reader.setting("kafka_group_name"))
    }
}

impl Reader {
    /// One of its settings.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.get(name).map(String::as_str)
    }
}

/// `Kafka SETTINGS a = 'b', c = 1`, or the older form with arguments in their order.
fn settings(engine: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    if let Some(arguments) = engine.strip_prefix("Kafka(") {
        let arguments = arguments.split_once(')').map_or(arguments, |(inside, _)| inside);
        let names = ["kafka_broker_list", "kafka_topic_list", "kafka_group_name", "kafka_format"];
        for (name, value) in names.into_iter().zip(values(arguments)) {
            found.insert(name.to_owned(), value);
        }
    }
    if let Some((_, list)) = engine.split_once(" SETTINGS ") {
        for part in parts(list) {
            if let Some((name, value)) = part.split_once('=') {
                found.insert(name.trim().to_owned(), value.trim().trim_matches('\'').to_owned());
            }
        }
    }
    found
}

fn values(list: &str) -> impl Iterator<Item = String> + '_ {
    parts(list).into_iter().map(|part| part.trim().trim_matches('\'').to_owned())
}

/// Cuts at commas outside of quotes.
fn parts(list: &str) -> Vec<&str> {
    let (mut parts, mut start, mut is_quoted) = (Vec::new(), 0, false);
    for (at, c) in list.char_indices() {
        match c {
            '\'' => is_quoted = !is_quoted,
            ',' if !is_quoted => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    parts
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A reader and a view of it, with the settings that xtcp2 ships.
    pub(in crate::migrate::adopt) fn topology() -> Topology {
        let engine = "Kafka SETTINGS kafka_broker_list = 'a:9092,b:9092', kafka_topic_list = 'xtcp', \
                      kafka_group_name = 'xtcp', kafka_format = 'ProtobufList', kafka_num_consumers = 1";
        let reader = Reader {
            name: "r".to_owned(),
            settings: settings(engine),
            columns: vec!["schema_version".to_owned(), "hostname".to_owned()],
            create: "CREATE TABLE d.r (`schema_version` UInt32) ENGINE = Kafka".to_owned(),
        };
        let query = "SELECT * FROM d.r WHERE (length(_error) = 0) AND (schema_version = 2)";
        let feed = Feed {
            name: "v".to_owned(),
            reader: "r".to_owned(),
            target: "xtcp_flat_records_v2".to_owned(),
            query: query.to_owned(),
            create: format!("CREATE MATERIALIZED VIEW d.v TO d.xtcp_flat_records_v2 (`a` UInt8) AS {query}"),
        };
        Topology { readers: vec![reader], feeds: vec![feed] }
    }

    #[test]
    fn settings_are_read_in_both_forms() {
        let found = topology().readers[0].settings.clone();
        assert_eq!(found["kafka_broker_list"], "a:9092,b:9092");
        assert_eq!(found["kafka_num_consumers"], "1");
        let older =
            settings("Kafka('a:9092,b:9092', 'xtcp', 'group', 'ProtobufList') SETTINGS kafka_max_block_size = 7");
        assert_eq!((older["kafka_group_name"].as_str(), older["kafka_max_block_size"].as_str()), ("group", "7"));
    }
}
