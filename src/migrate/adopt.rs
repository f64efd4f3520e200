//! Taking over from the ClickHouse-only topology: what of it is on the server, and how its consumption is stopped.
//!
//! There, a table with the Kafka engine reads the topic and materialized views write what it reads into the tables. Here
//! it is looked for, held against what this service can go on with, and stopped: the reader first, in one step, and its
//! views after it. Were a view stopped first, the reader would go on and drop what was that view's.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::{
    bootstrap::Definitions,
    clickhouse::{Client, Error, quoted},
};

/// A table with the Kafka engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reader {
    /// Its name.
    pub name: String,
    /// Its settings by name: `kafka_topic_list`, `kafka_group_name` and the rest.
    pub settings: BTreeMap<String, String>,
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
    source: String,
    target: String,
}

const OBJECTS: &str = "SELECT name, engine, engine_full, create_table_query, \
    replaceAll(extract(as_select, ' FROM ([^ ]+)'), '`', '') AS source, \
    replaceAll(extract(create_table_query, ' TO ([^ ]+)'), '`', '') AS target \
    FROM system.tables WHERE database = {database:String} AND engine IN ('Kafka', 'MaterializedView') ORDER BY name";

impl Topology {
    /// Looks for it in the client's database.
    ///
    /// # Errors
    /// When ClickHouse can't be asked.
    pub async fn find(client: &Client) -> Result<Self, Error> {
        let database = client.database();
        let rows: Vec<Row> = client.query(OBJECTS, &[("database", database)]).await?;
        let own = |name: &str| name.strip_prefix(database).and_then(|rest| rest.strip_prefix('.')).map(str::to_owned);
        let mut found = Self::default();
        let tables: Vec<TableName> = client
            .query("SELECT name FROM system.tables WHERE database = {database:String}", &[("database", database)])
            .await?;
        let tables: BTreeSet<String> = tables.into_iter().map(|row| row.name).collect();
        for row in rows {
            if row.engine == "Kafka" {
                let settings = settings(&row.engine_full);
                found.readers.push(Reader { name: row.name, settings, create: row.create_table_query });
                continue;
            }
            let (Some(reader), Some(target)) = (own(&row.source), own(&row.target)) else { continue };
            found.feeds.push(Feed { name: row.name, reader, target, create: row.create_table_query });
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

    /// Why this service can't go on where the reader stops; empty when it can.
    #[must_use]
    pub fn objections(&self, definitions: &Definitions, topic: &str, group: &str) -> Vec<String> {
        let mut objections = Vec::new();
        for Reader { name, settings, .. } in &self.readers {
            let is = |setting: &str| settings.get(setting).map_or("", String::as_str);
            for (setting, here, wanted) in [
                ("kafka_topic_list", "kafka.topic", topic),
                ("kafka_group_name", "kafka.group", group),
                ("kafka_format", "the framing of daemons", "ProtobufList"),
            ] {
                if is(setting) != wanted {
                    let has = is(setting);
                    objections.push(format!("{name}: {setting} is `{has}`, and {here} is `{wanted}`"));
                }
            }
        }
        if self.readers.len() > 1 {
            objections.push("several readers: their offsets would have to be joined by hand".to_owned());
        }
        let tables: Vec<&str> = definitions
            .registry
            .epochs()
            .iter()
            .map(|epoch| epoch.table.name.as_str())
            .chain([definitions.errors().name.as_str()])
            .collect();
        for feed in self.feeds.iter().filter(|feed| !tables.contains(&feed.target.as_str())) {
            let (name, target) = (&feed.name, &feed.target);
            objections.push(format!("{name} writes into `{target}`, which is no table of these definitions"));
        }
        objections
    }

    /// The statements that stop it, in their order.
    #[must_use]
    pub fn stops(&self, database: &str, drop: bool) -> Vec<String> {
        let names = self.readers.iter().map(|reader| &reader.name).chain(self.feeds.iter().map(|feed| &feed.name));
        let stop = |name: &String| {
            let name = format!("{}.{}", quoted(database), quoted(name));
            if drop { format!("DROP TABLE {name} SYNC") } else { format!("DETACH TABLE {name} PERMANENTLY SYNC") }
        };
        names.map(stop).collect()
    }

    /// The statements that bring it back, in their order: the reader last.
    #[must_use]
    pub fn restores(&self, database: &str, drop: bool) -> Vec<String> {
        let feeds = self.feeds.iter().map(|feed| (&feed.name, &feed.create));
        let readers = self.readers.iter().map(|reader| (&reader.name, &reader.create));
        let restore = |(name, create): (&String, &String)| match drop {
            true => create.clone(),
            false => format!("ATTACH TABLE {}.{}", quoted(database), quoted(name)),
        };
        match drop {
            // A view can't be made before what it reads is there.
            true => readers.chain(feeds).map(restore).collect(),
            false => feeds.chain(readers).map(restore).collect(),
        }
    }
}

#[derive(Deserialize)]
struct TableName {
    name: String,
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
mod tests {
    use super::*;

    fn topology() -> Topology {
        let engine = "Kafka SETTINGS kafka_broker_list = 'a:9092,b:9092', kafka_topic_list = 'xtcp', \
                      kafka_group_name = 'xtcp', kafka_format = 'ProtobufList', kafka_num_consumers = 1";
        let reader = Reader { name: "r".to_owned(), settings: settings(engine), create: "CREATE r".to_owned() };
        let feed = Feed {
            name: "v".to_owned(),
            reader: "r".to_owned(),
            target: "xtcp_flat_records_v2".to_owned(),
            create: "CREATE v".to_owned(),
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

    #[test]
    fn what_is_otherwise_than_here_is_an_objection() {
        let definitions = Definitions::embedded().expect("sound definitions");
        let good = topology();
        assert_eq!(good.objections(&definitions, "xtcp", "xtcp"), [""; 0]);
        let said = good.objections(&definitions, "other", "mine").join("\n");
        assert!(said.contains("kafka_topic_list is `xtcp`, and kafka.topic is `other`"), "{said}");
        assert!(said.contains("kafka_group_name is `xtcp`, and kafka.group is `mine`"), "{said}");
        let mut foreign = good.clone();
        foreign.feeds[0].target = "elsewhere".to_owned();
        foreign.readers.push(foreign.readers[0].clone());
        let said = foreign.objections(&definitions, "xtcp", "xtcp").join("\n");
        assert!(said.contains("several readers") && said.contains("writes into `elsewhere`"), "{said}");
    }

    #[test]
    fn the_reader_stops_first_and_comes_back_last() {
        let stops = topology().stops("d", false);
        assert_eq!(stops, ["DETACH TABLE `d`.`r` PERMANENTLY SYNC", "DETACH TABLE `d`.`v` PERMANENTLY SYNC"]);
        assert_eq!(topology().restores("d", false), ["ATTACH TABLE `d`.`v`", "ATTACH TABLE `d`.`r`"]);
        assert_eq!(topology().stops("d", true)[0], "DROP TABLE `d`.`r` SYNC");
        assert_eq!(topology().restores("d", true), ["CREATE r", "CREATE v"]);
    }
}
