//! Where the server isn't as declared.

use std::{collections::HashMap, fmt};

use super::{
    catalogue::{Catalogue, LiveColumn, LiveTable},
    definitions::{Body, Definitions, Object},
    manifest::Kind,
    parameters::Parameters,
};

/// One thing that isn't as declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The object with its database.
    pub object: String,
    /// What it is.
    pub what: What,
}

/// What is different.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)] // the names and `Display` say it
pub enum What {
    DatabaseAbsent,
    Absent(Kind),
    Engine {
        live: String,
        declared: String,
    },
    ColumnAbsent {
        column: String,
        declared: String,
    },
    ColumnType {
        column: String,
        live: String,
        declared: String,
    },
    /// A column that the server fills itself and takes from nobody.
    ColumnComputed {
        column: String,
        kind: String,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let object = &self.object;
        match &self.what {
            What::DatabaseAbsent => write!(
                f,
                "database {object} doesn't exist: create it, let `bootstrap.tables` be on, or give another `clickhouse.database`"
            ),
            What::Absent(kind) => write!(f, "{} {object} doesn't exist", kind.name()),
            What::Engine { live, declared } => write!(f, "{object} has engine {live}; declared is {declared}"),
            What::ColumnAbsent { column, declared } => {
                write!(f, "{object} has no column `{column}`; declared is {declared}")
            }
            What::ColumnType { column, live, declared } => {
                write!(f, "column `{column}` of {object} is {live}; declared is {declared}")
            }
            What::ColumnComputed { column, kind } => {
                write!(f, "column `{column}` of {object} is {kind} and can't be inserted into")
            }
        }
    }
}

impl Definitions {
    /// Every difference between the declared objects and what `catalogues` hold, by database name. Live columns that
    /// aren't declared are no difference.
    pub(super) fn differences(
        &self,
        parameters: &Parameters,
        catalogues: &HashMap<String, Catalogue>,
    ) -> Vec<Difference> {
        let mut differences = Vec::new();
        for object in &self.objects {
            let Some(database) = self.database(object, parameters) else { continue };
            let catalogue = &catalogues[database];
            if matches!(object.body, Body::Database) {
                if catalogue.database_engine.is_none() {
                    differences.push(Difference { object: database.to_owned(), what: What::DatabaseAbsent });
                }
            } else if catalogue.database_engine.is_some() {
                // Of a database that isn't there, saying so is enough.
                self.compare(object, database, catalogue, &mut differences);
            }
        }
        differences
    }

    fn compare(&self, object: &Object, database: &str, catalogue: &Catalogue, differences: &mut Vec<Difference>) {
        let (name, engine) = match &object.body {
            Body::Epoch(_) | Body::Table(_) => self.table(object).map_or(("", ""), |t| (&t.name, &t.engine)),
            Body::Merge(merge) => (merge.name.as_str(), "Merge"),
            Body::View(view) => (view.name.as_str(), "View"),
            Body::MaterializedView(view) => (view.name.as_str(), "MaterializedView"),
            // Of a role only an account that manages rights could tell.
            Body::Database | Body::Role(_) | Body::Topic(_) => return,
        };
        let full_name = format!("{database}.{name}");
        let Some(live) = catalogue.tables.get(name) else {
            differences.push(Difference { object: full_name, what: What::Absent(object.entry.kind) });
            return;
        };
        if variant(&live.engine) != variant(engine) {
            let what = What::Engine { live: live.engine.clone(), declared: engine.to_owned() };
            differences.push(Difference { object: full_name.clone(), what });
        }
        let declared = self.columns(object).unwrap_or_default();
        let declared: Vec<_> = declared.iter().map(|c| (c.name.clone(), c.column_type.to_string())).collect();
        compare_columns(&full_name, live, &declared, differences);
    }
}

/// An engine without its parameters, and without what a platform puts before it.
fn variant(engine: &str) -> &str {
    let name = engine.split('(').next().unwrap_or(engine);
    name.strip_prefix("Replicated").or_else(|| name.strip_prefix("Shared")).unwrap_or(name)
}

/// Adds what stands between a live table and columns of these names and types.
pub(super) fn compare_columns(
    full_name: &str,
    live: &LiveTable,
    declared: &[(String, String)],
    differences: &mut Vec<Difference>,
) {
    let by_name: HashMap<&str, &LiveColumn> = live.columns.iter().map(|c| (c.name.as_str(), c)).collect();
    for (column, declared) in declared {
        let (column, declared) = (column.clone(), declared.clone());
        let what = match by_name.get(column.as_str()) {
            None => What::ColumnAbsent { column, declared },
            Some(live) if live.column_type != declared => {
                What::ColumnType { column, live: live.column_type.clone(), declared }
            }
            Some(live) if matches!(live.default_kind.as_str(), "MATERIALIZED" | "ALIAS") => {
                What::ColumnComputed { column, kind: live.default_kind.clone() }
            }
            Some(_) => continue,
        };
        differences.push(Difference { object: full_name.to_owned(), what });
    }
}
