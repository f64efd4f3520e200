//! The client against the real engine: what is inserted, what is refused, and by which code.

use bytes::Bytes;
use serde::Deserialize;
use xtcp_ingest::{
    block,
    clickhouse::{Class, Client, Insert},
    config::Secret,
};

use crate::support::{self, Database};

async fn database(test: &str, table: &str) -> Database {
    let database = Database::new(test).await;
    database.execute("CREATE DATABASE {db}").await;
    database.execute(table).await;
    database
}
