//! Sends schema statements: how large one may be, and how replicas are waited for.

use super::{error::Error, platform::Platform};
use crate::clickhouse::Client;

/// What a server parses without being asked for more.
const USUAL: u64 = 262_144;
/// Room besides the statement's own bytes.
const MARGIN: u64 = 4096;

/// Sends statements that change the schema.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ddl<'a> {
    pub client: &'a Client,
    pub platform: Platform,
    /// The most that is asked for, in bytes.
    pub ceiling: u64,
}

impl Ddl<'_> {
    /// Sends one statement about the object of that name.
    pub(super) async fn send(&self, name: &str, sql: &str) -> Result<(), Error> {
        let size = max_query_size(sql.len() as u64, self.ceiling).ok_or_else(|| Error::TooLarge {
            name: name.to_owned(),
            size: sql.len() as u64,
            ceiling: self.ceiling,
        })?;
        let size = size.map(|size| size.to_string());
        let mut settings = Vec::new();
        if self.platform.is_replicated() {
            // A replica that is down catches up from the database's log; nobody waits for it.
            settings.push(("distributed_ddl_output_mode", "throw_only_active"));
        }
        settings.extend(size.as_ref().map(|size| ("max_query_size", size.as_str())));
        let fault = |source| Error::Statement { name: name.to_owned(), source };
        self.client.execute(sql, &settings).await.map_err(fault)
    }
}

/// What to ask for: nothing when the usual is enough, so that a profile's own value stays. `None` when it is too much.
pub(super) fn max_query_size(statement: u64, ceiling: u64) -> Option<Option<u64>> {
    let needed = statement + MARGIN;
    match needed {
        ..=USUAL => Some(None),
        _ if needed > ceiling => None,
        _ => Some(Some(needed)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_holds_to_the_byte() {
        let ceiling = 16_777_216;
        for (size, asked) in [
            (1, Some(None)),
            (258_048, Some(None)),
            (258_049, Some(Some(262_145))),
            (700_000, Some(Some(704_096))),
            (ceiling - 4096, Some(Some(ceiling))),
            (ceiling - 4095, None),
            (ceiling, None),
        ] {
            assert_eq!(max_query_size(size, ceiling), asked, "{size}");
        }
        assert_eq!(max_query_size(258_048, 262_144), Some(None));
        assert_eq!(max_query_size(258_049, 262_144), None);
    }
}
