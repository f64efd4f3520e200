//! ClickHouse as the writer sees it: one INSERT a block, and what a refusal is about.

use std::{future::Future, pin::Pin, sync::Arc};

use super::{
    presence::is_there,
    proof::Proof,
    writer::{About, Refusal, Sink},
};
use crate::{
    clickhouse::{Class, Client, Error, Insert},
    lane::Block,
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
            is_there(self, &block.target, &block.samples).await.map_err(|error| {
                let about = match about(&error) {
                    // Whatever is amiss with the question, it is no block; and one that takes long says nothing of inserts.
                    About::Rows | About::Memory => About::Table,
                    About::Server if error.is_unanswered() => About::Table,
                    about => about,
                };
                Refusal { about, cause: error.to_string() }
            })
        })
    }
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
