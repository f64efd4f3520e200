//! Whether ClickHouse can be used while there is nothing to insert: a process without work is as ready as one with work.
//!
//! Asked beside the inserts, of which none waits for it. Once unanswered is not yet away: a single question may be lost, or
//! meet a server that has its hands full.

use std::{fmt::Display, sync::Arc, time::Duration};

use tokio::time::{MissedTickBehavior, interval};

use super::report::Report;
use crate::clickhouse::Client;

/// How often it is asked.
const LOOK: Duration = Duration::from_secs(3);
/// How long a server may take to say that it is there.
const ANSWER: Duration = Duration::from_secs(5);

/// Asks until it is aborted.
pub(super) async fn watch(client: Client, report: Arc<Report>) {
    let mut tick = interval(LOOK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut missed = false;
    loop {
        tick.tick().await;
        let fault = client.look(ANSWER).await.err();
        if fault.is_none() || missed {
            report.looked(fault.as_ref().map(|error| error as &dyn Display));
        }
        missed = fault.is_some();
    }
}
