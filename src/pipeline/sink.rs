//! ClickHouse as the writer sees it: one INSERT a block, and what a refusal is about.

use std::{future::Future, pin::Pin, sync::Arc};

use super::{
    proof::Proof,
    writer::{About, Refusal, Sink},
};
use crate::{
    clickhouse::{Class, Client, Error, Insert, Sought},
    lane::{Block, Target},
};

const MEMORY_LIMIT_EXCEEDED: i32 = 241;

impl Sink for Client {
    fn insert<'a>(
        &'a self,
        block: &'a Block,
        token: &'a str,
        proof: &'a Arc<Proof>,
    ) -> Pin<Box<dyn Future<Output = Result<(), Refusal>> + Send + 'a>> {
        Box::pin(async move {
            let columns: Vec<&str> = block.target.columns.iter().map(|(name, _)| name.as_str()).collect();
            let settings = [("insert_deduplication_token", token)];
            let insert =
                Insert { table: &block.target.table, columns: &columns, body: &block.body, settings: &settings };
            let proof = proof.clone();
            self.insert_guarded(&insert, Arc::new(move || proof.holds()))
                .await
                .map_err(|error| Refusal { about: about(&error), cause: error.to_string() })
        })
    }

    fn holds<'a>(&'a self, block: &'a Block) -> Pin<Box<dyn Future<Output = Result<bool, Refusal>> + Send + 'a>> {
        Box::pin(async move {
            let asked = async {
                let table = &block.target.table;
                Ok(!self.notes_tokens_first(table).await? || look_for(self, &block.target, &block.sample).await?)
            };
            asked.await.map_err(|error| {
                // Whatever is amiss with the question, it is not the rows.
                let about = Some(about(&error)).filter(|about| *about != About::Rows).unwrap_or(About::Table);
                Refusal { about, cause: error.to_string() }
            })
        })
    }
}

/// Whether a table has the row that `sample` is, in the columns that tell its rows apart.
pub(super) async fn look_for(client: &Client, target: &Target, sample: &[u8]) -> Result<bool, Error> {
    let columns: Vec<&str> = target.telling.iter().map(|at| target.columns[*at].0.as_str()).collect();
    client.has_row(&Sought { table: &target.table, columns: &columns, row: sample }).await
}

fn about(error: &Error) -> About {
    match error.class() {
        Class::Retry if error.code() == Some(MEMORY_LIMIT_EXCEEDED) => About::Memory,
        // An answer without a code didn't come from the table.
        Class::Retry if error.code().is_none() => About::Server,
        Class::Retry => About::Table,
        Class::Schema => About::Schema,
        Class::Split => About::Rows,
        Class::Fatal => About::Account,
    }
}
