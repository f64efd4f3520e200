//! What each object needs, found by comparing its declaration with the live catalogue.

use std::collections::HashMap;

use serde::Deserialize;

use super::{
    catalogue::{Catalogue, LiveTable},
    clauses::variant,
    compare::{Comparison, Declared, compare, same_type},
    definitions::{Body, Definitions, Object},
    drift::{Drift, Part, Remedy},
    error::Error,
    parameters::Parameters,
    platform::Platform,
    render::{self, Statement, merge_engine},
    unify,
};
use crate::{
    clickhouse::{Client, literal},
    epoch::Column,
};

/// The declarations of a deployment, for one platform.
pub(super) struct Planner<'a> {
    pub definitions: &'a Definitions,
    pub parameters: &'a Parameters,
    pub platform: Platform,
    /// The queries of views by id, in the server's own words.
    selects: HashMap<String, String>,
}

/// What an object needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Need {
    /// It isn't there.
    Create,
    /// It holds nothing and is otherwise: it gives its place to a new one. In words, why.
    Replace(Vec<String>),
    /// A role whose rights are written anew, and whether it is there.
    Assert {
        /// What is sent, in order.
        statements: Vec<String>,
        /// Whether there is such a role.
        is_there: bool,
    },
    /// It is there; what stands between it and its declaration.
    Compare(Comparison),
}

#[derive(Deserialize)]
struct Selects {
    selects: Vec<Option<String>>,
}

impl<'a> Planner<'a> {
    /// Has the server put the queries of views into its own words.
    ///
    /// # Errors
    /// When it can't be asked.
    pub(super) async fn new(
        client: &Client,
        definitions: &'a Definitions,
        parameters: &'a Parameters,
        platform: Platform,
    ) -> Result<Self, Error> {
        let mut planner = Self { definitions, parameters, platform, selects: HashMap::new() };
        let mut views = Vec::new();
        for object in &definitions.objects {
            if let (Body::View(view) | Body::MaterializedView(view), Some(database)) =
                (&object.body, definitions.database(object, parameters))
            {
                let select = view.select(database, &unify::select(&definitions.registry, database));
                views.push((object.entry.id.value.clone(), select));
            }
        }
        if views.is_empty() {
            return Ok(planner);
        }
        let parts: Vec<String> =
            views.iter().map(|(_, select)| format!("formatQuerySingleLineOrNull({})", literal(select))).collect();
        let sql = format!("SELECT [{}] AS selects", parts.join(", "));
        let size = (sql.len() + 4096).max(262_144).to_string();
        let row: Option<Selects> = client.query_with(&sql, &[], &[("max_query_size", &size)]).await?.pop();
        let texts = row.map(|row| row.selects).unwrap_or_default();
        planner.selects = views.into_iter().zip(texts).filter_map(|((id, _), text)| Some((id, text?))).collect();
        Ok(planner)
    }

    /// The statement of an object; topics have none.
    pub(super) fn statement(&self, object: &Object) -> Option<Statement> {
        self.definitions.statement(object, self.parameters, self.platform)
    }

    /// What an object needs.
    pub(super) fn need(&self, object: &Object, statement: &Statement, catalogue: &Catalogue) -> Need {
        if let Body::Role(role) = &object.body {
            let is_there = catalogue.roles.contains(&role.name);
            let is_asserted = catalogue.asserted.get(&role.name) == Some(&statement.checksum);
            return match is_there && is_asserted {
                true => Need::Compare(Comparison::default()),
                false => Need::Assert { statements: role.statements(&statement.database), is_there },
            };
        }
        if !catalogue.has(&statement.name) {
            return Need::Create;
        }
        let Some(live) = catalogue.tables.get(&statement.name) else {
            // A database: its engine is looked at before anything else is.
            return Need::Compare(Comparison::default());
        };
        match &object.body {
            Body::Database | Body::Role(_) | Body::Topic(_) => Need::Compare(Comparison::default()),
            Body::Epoch(_) | Body::Table(_) => {
                let declared = self.declared(object);
                Need::Compare(declared.map(|declared| compare(&declared, live)).unwrap_or_default())
            }
            Body::Merge(merge) => {
                let engine = merge_engine(&statement.database, merge);
                let columns = self.definitions.columns(object).unwrap_or_default();
                replace_if(live, "Merge", &engine, || merge_differences(live, &engine, columns))
            }
            Body::MaterializedView(view) => {
                let target = format!("{}.{}", statement.database, view.target.as_deref().unwrap_or(""));
                let query = self.selects.get(&statement.id).map_or("", String::as_str);
                Need::Compare(materialized(live, &target, query))
            }
            Body::View(_) => replace_if(live, "View", "View", || {
                let same = self.selects.get(&statement.id).is_some_and(|select| *select == live.as_select);
                if same { Vec::new() } else { vec!["the query is another".to_owned()] }
            }),
        }
    }

    fn declared<'o>(&'o self, object: &'o Object) -> Option<Declared<'o>> {
        let (table, columns) = (self.definitions.table(object)?, self.definitions.columns(object)?);
        Some(Declared {
            engine: render::engine(table, Some(self.platform)),
            columns,
            order_by: &table.order_by,
            ttl: render::ttl(table, columns, self.parameters),
            settings: render::settings(table, Some(self.platform)),
            additive: object.entry.additive,
        })
    }
}

/// A materialized view is never altered: rows that it let pass while it was another would be missed by nobody.
fn materialized(live: &LiveTable, target: &str, query: &str) -> Comparison {
    let why = "a materialized view is not altered: drop it by hand, and the next pass creates it";
    let parts = [
        (Part::Engine, live.engine.as_str(), "MaterializedView"),
        (Part::Target, &live.target, target),
        (Part::Query, &live.as_select, query),
    ];
    let different = |(part, live, declared): (Part, &str, &str)| {
        let (live, declared) = (live.to_owned(), declared.to_owned());
        (live != declared).then(|| Drift { part, live, declared, remedy: Remedy::Refused(why.to_owned()) })
    };
    Comparison { drift: parts.into_iter().filter_map(different).collect(), ..Comparison::default() }
}

/// Only what holds nothing is replaced: whatever else bears the name is left alone.
fn replace_if(live: &LiveTable, kind: &str, engine: &str, differences: impl FnOnce() -> Vec<String>) -> Need {
    if live.engine == kind {
        let differences = differences();
        return if differences.is_empty() { Need::Compare(Comparison::default()) } else { Need::Replace(differences) };
    }
    let drift = Drift {
        part: Part::Engine,
        live: live.engine.clone(),
        declared: engine.to_owned(),
        remedy: Remedy::Refused("something else bears the name and may hold data: move it away".to_owned()),
    };
    Need::Compare(Comparison { drift: vec![drift], ..Comparison::default() })
}

fn merge_differences(live: &LiveTable, engine: &str, columns: &[Column]) -> Vec<String> {
    let mut differences = Vec::new();
    if variant(&live.clauses.engine) != variant(engine) {
        differences.push(format!("engine {} becomes {engine}", live.clauses.engine));
    }
    for column in columns {
        match live.columns.iter().find(|l| l.name == column.name) {
            None => differences.push(format!("column `{}` is new", column.name)),
            Some(l) if !same_type(&l.column_type, &column.column_type) => {
                let (name, from, to) = (&column.name, &l.column_type, &column.column_type);
                differences.push(format!("column `{name}` becomes {to}, was {from}"));
            }
            Some(_) => {}
        }
    }
    let gone = live.columns.iter().filter(|l| !columns.iter().any(|c| c.name == l.name));
    differences.extend(gone.map(|l| format!("column `{}` goes", l.name)));
    differences
}
