//! What a consumer is in its group at one moment, for writes that only a present member may make.

use std::ffi::CStr;

use rdkafka::{
    bindings as c,
    consumer::{BaseConsumer, Consumer as _, ConsumerGroupMetadata},
};

use super::context::Group;

/// The member's name and the generation, or epoch, of the group that it knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    member: String,
    generation: i32,
}

/// What a write is stamped with: the coordinator refuses it as soon as the group has moved on. `None` while the consumer is
/// no member, or has lost its partitions and not given them up yet.
///
/// # Design
/// It is taken anew for each write rather than kept from the assignment, because a generation goes on without a call-back
/// where nothing changes for this member. What makes that sound: librdkafka never joins a group again before the
/// application has given up what it lost, and marks it as lost before that. So if nothing is marked after the stamp was
/// taken, and the listener was not told to give up the partition meanwhile, then the partition belonged to this member
/// in the very generation of the stamp.
///
/// A stamp without a member's name would be waved through by the coordinator, which takes it for a client that knows
/// nothing of groups. rdkafka doesn't show what is in a stamp: so the membership is looked at before and after.
pub(super) fn stamp(consumer: &BaseConsumer<Group>) -> Option<ConsumerGroupMetadata> {
    let before = membership(consumer)?;
    let stamp = consumer.group_metadata()?;
    let after = membership(consumer)?;
    (before == after && !consumer.assignment_lost()).then_some(stamp)
}

/// `None` while the consumer is no member.
pub(super) fn membership(consumer: &BaseConsumer<Group>) -> Option<Membership> {
    // SAFETY: the client lives as long as the reference; the copy is given back once, after its text was copied.
    unsafe {
        let metadata = c::rd_kafka_consumer_group_metadata(consumer.client().native_ptr());
        if metadata.is_null() {
            return None;
        }
        let member = c::rd_kafka_consumer_group_metadata_member_id(metadata);
        let member =
            if member.is_null() { String::new() } else { CStr::from_ptr(member).to_string_lossy().into_owned() };
        let generation = c::rd_kafka_consumer_group_metadata_generation_id(metadata);
        c::rd_kafka_consumer_group_metadata_destroy(metadata);
        (!member.is_empty() && generation > 0).then_some(Membership { member, generation })
    }
}
