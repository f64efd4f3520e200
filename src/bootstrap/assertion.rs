//! Is everything there? Asked before ingest starts, and whenever a server's answer puts it in doubt. Creates nothing.

use std::collections::HashMap;

use super::{
    catalogue::Catalogue,
    definitions::Definitions,
    difference::{Difference, What, compare_columns},
    error::Error,
    manifest::Kind,
    parameters::Parameters,
};
use crate::clickhouse::Client;

/// Fails unless databases, tables, views and columns are as declared; every difference is named.
///
/// # Errors
/// [`Error::NotAsDeclared`], or the server's fault.
pub async fn assert_declared(client: &Client, definitions: &Definitions, parameters: &Parameters) -> Result<(), Error> {
    let mut catalogues = HashMap::new();
    for database in &definitions.manifest.databases {
        let name = parameters.name(&database.name);
        if !catalogues.contains_key(name) {
            catalogues.insert(name.to_owned(), Catalogue::read(client, name).await?);
        }
    }
    none(definitions.differences(parameters, &catalogues))
}

/// Fails unless each of the tables has the columns that a block brings, of equal types: the server would cast what it
/// can, and fill what a block lacks, without a word.
///
/// # Errors
/// [`Error::NotAsDeclared`], or the server's fault.
pub async fn assert_insertable<'a>(
    client: &Client,
    tables: impl IntoIterator<Item = (&'a str, &'a [(String, String)])>,
) -> Result<(), Error> {
    let database = client.database();
    let catalogue = Catalogue::read(client, database).await?;
    if catalogue.database_engine.is_none() {
        return none(vec![Difference { object: database.to_owned(), what: What::DatabaseAbsent }]);
    }
    let mut differences = Vec::new();
    for (table, columns) in tables {
        let object = format!("{database}.{table}");
        match catalogue.tables.get(table) {
            None => differences.push(Difference { object, what: What::Absent(Kind::Table) }),
            Some(live) => compare_columns(&object, live, columns, &mut differences),
        }
    }
    none(differences)
}

fn none(differences: Vec<Difference>) -> Result<(), Error> {
    if differences.is_empty() { Ok(()) } else { Err(Error::NotAsDeclared(differences)) }
}
