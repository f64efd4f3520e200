//! The identity of a topic: one that is deleted and created again under the same name has another.
//!
//! rdkafka has no call for it, librdkafka does: this is the only place that speaks to it past rdkafka.

use std::{
    ffi::{CStr, CString},
    ptr,
    time::Duration,
};

use rdkafka::{
    ClientContext, bindings as c,
    client::Client,
    error::{KafkaError, KafkaResult},
    types::RDKafkaErrorCode,
};

/// Asks the cluster for a topic's identity: 22 characters of base 64.
pub(super) fn topic_id<C: ClientContext>(client: &Client<C>, topic: &str, timeout: Duration) -> KafkaResult<String> {
    let name = CString::new(topic).map_err(KafkaError::Nul)?;
    let milliseconds = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
    // A question for the identity that waits for a broker has librdkafka connect to it again and again without a pause: it
    // took a core for as long as the broker was away. A question for metadata waits as it should.
    client.fetch_metadata(Some(topic), timeout)?;
    // SAFETY: the client lives as long as the borrow; what is made here is given back below, each once, the event last
    // because the result and the identity are inside it.
    unsafe {
        let client = client.native_ptr();
        let mut names = [name.as_ptr()];
        let collection = c::rd_kafka_TopicCollection_of_topic_names(names.as_mut_ptr(), names.len());
        let options = c::rd_kafka_AdminOptions_new(client, c::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DESCRIBETOPICS);
        c::rd_kafka_AdminOptions_set_request_timeout(options, milliseconds, ptr::null_mut(), 0);
        let queue = c::rd_kafka_queue_new(client);
        c::rd_kafka_DescribeTopics(client, collection, options, queue);
        let event = c::rd_kafka_queue_poll(queue, milliseconds);
        let found = if event.is_null() { Err(RDKafkaErrorCode::OperationTimedOut) } else { identity(event) };
        if !event.is_null() {
            c::rd_kafka_event_destroy(event);
        }
        c::rd_kafka_queue_destroy(queue);
        c::rd_kafka_AdminOptions_destroy(options);
        c::rd_kafka_TopicCollection_destroy(collection);
        found.map_err(KafkaError::MetadataFetch)
    }
}

/// # Safety
/// `event` must be one that librdkafka gave and that was not given back.
unsafe fn identity(event: *mut c::rd_kafka_event_t) -> Result<String, RDKafkaErrorCode> {
    let check = |code: c::rd_kafka_resp_err_t| match RDKafkaErrorCode::from(code) {
        RDKafkaErrorCode::NoError => Ok(()),
        code => Err(code),
    };
    // SAFETY: all pointers are into the event; a result of another kind is null, which is looked at.
    unsafe {
        check(c::rd_kafka_event_error(event))?;
        let result = c::rd_kafka_event_DescribeTopics_result(event);
        let mut count = 0;
        let topics = if result.is_null() {
            ptr::null_mut()
        } else {
            c::rd_kafka_DescribeTopics_result_topics(result, &raw mut count)
        };
        if topics.is_null() || count == 0 {
            return Err(RDKafkaErrorCode::UnknownTopicOrPartition);
        }
        let topic = *topics;
        let error = c::rd_kafka_TopicDescription_error(topic);
        if !error.is_null() {
            check(c::rd_kafka_error_code(error))?;
        }
        let text = c::rd_kafka_Uuid_base64str(c::rd_kafka_TopicDescription_topic_id(topic));
        if text.is_null() {
            return Err(RDKafkaErrorCode::UnknownTopicOrPartition);
        }
        Ok(CStr::from_ptr(text).to_string_lossy().into_owned())
    }
}
