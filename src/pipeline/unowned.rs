//! Partitions that the group has given to nobody.
//!
//! Partitions change hands in two rounds: the first takes them from one member, the second gives them to another, and is
//! begun by the one that has given them up. If a static member ends in between, it comes back under its name into a
//! group that takes it for the same member and has nothing to divide up: the second round never comes, and the partitions
//! wait until somebody joins or leaves. So a static member looks, whenever it has become a member anew, whether each
//! partition has an owner; if not, it leaves the group for good and joins it again.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use tokio::time::sleep;

use crate::{
    config,
    kafka::{Group, Offsets},
};

/// How often a member looks whether it has become one anew, and how long partitions may have no owner: between the two
/// rounds they have none.
const LOOK: Duration = Duration::from_secs(5);
/// How long the group is left alone after this member left it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Whether such a thing can happen to this member.
pub(super) fn may_be(kafka: &config::Kafka) -> bool {
    let property = |name| kafka.properties.get(name).map(config::Secret::reveal);
    property("group.instance.id").is_some() && property("group.protocol") != Some("consumer")
}

/// Looks until it is dropped; of partitions that are added later it knows nothing.
pub(super) async fn watch(group: Group, offsets: Offsets, topic: Arc<str>, partitions: BTreeSet<i32>) {
    let mut settled = None;
    let mut before = BTreeSet::new();
    loop {
        sleep(LOOK).await;
        let membership = offsets.membership();
        if membership.is_none() || membership == settled {
            before.clear();
            continue;
        }
        let unowned = match group.unowned(&topic, partitions.clone()).await {
            Ok(Some(unowned)) => unowned,
            // In the middle of a round, or not to be told: it is asked once more.
            Ok(None) | Err(_) => {
                before.clear();
                continue;
            }
        };
        if unowned.is_empty() {
            settled = membership;
        } else if !unowned.is_disjoint(&before) {
            tracing::warn!(
                ?unowned,
                "partitions have no owner in the group: leaving it and joining again, so that they get one"
            );
            offsets.rejoin();
            sleep(PATIENCE).await;
            before.clear();
            continue;
        }
        before = unowned;
    }
}
