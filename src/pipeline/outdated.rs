//! Tells when records come that the server's definitions know and this process's don't: it reads them when it starts.

use std::time::Duration;

use crate::{
    bootstrap::{Definitions, newer_release},
    clickhouse::Client,
    config::Config,
    lane::Reason,
    telemetry::{Every, Telemetry},
};

/// How often it is looked whether there are more of them.
const LOOK: Duration = Duration::from_secs(5);

/// Goes on for ever. Says it once a minute at most, as long as such records come.
pub(super) async fn watch(config: &Config, definitions: &Definitions, telemetry: &Telemetry) {
    let Ok(client) = Client::new(&config.clickhouse) else { return std::future::pending::<()>().await };
    let (now_and_then, mut seen) = (Every::new(Every::MINUTE), 0);
    loop {
        tokio::time::sleep(LOOK).await;
        let diverted = telemetry.ledger().sums().diverted.get(&Reason::UnknownEpoch).copied().unwrap_or(0);
        if diverted <= seen {
            continue;
        }
        seen = diverted;
        // An account that may not read the ledger is told nothing.
        let Ok(Some(applied)) = newer_release(&client, definitions).await else { continue };
        if now_and_then.ready().is_some() {
            let own = &definitions.manifest.release;
            tracing::warn!(
                diverted,
                own,
                applied,
                "records come of an epoch that this process has no definition of, and the server was given newer definitions: \
                 restart it with those, then `xtcp-ingest migrate replay` places what was diverted"
            );
        }
    }
}
