//! Diverted records → blocks of the tables that they belong to.

use std::sync::Arc;

use prost::encoding::encode_varint;

use super::Diverted;
use crate::{
    bootstrap::Definitions,
    config::Framing,
    lane::{Block, Decoder, Lane, Message, Outcome, Schema},
};

/// The key of an envelope's field 10, a record.
const ROW: u8 = 10 << 3 | 2;

/// What came of records.
#[derive(Debug)]
pub struct Decoded {
    /// The positions of those that are rows now.
    pub placed: Vec<usize>,
    /// The reasons of the rest.
    pub refused: Vec<String>,
    /// The rows.
    pub blocks: Vec<Block>,
}

/// Sends records the way that those of a topic go. The same records give the same blocks.
pub(super) fn decode(definitions: &Definitions, rows: &[Diverted]) -> Decoded {
    let schema = Schema::new(&definitions.registry, &definitions.errors().name, Framing::Delimited);
    let mut lane = Lane::new(Arc::clone(&schema), Arc::from(""), 0);
    let mut decoder = Decoder::new(schema);
    let mut placed = Vec::new();
    {
        let mut filling = lane.fill(&mut decoder);
        for (at, row) in rows.iter().enumerate() {
            let message = message(&row.bytes());
            let offset = i64::try_from(at).unwrap_or(i64::MAX);
            filling.push_with(Message { offset, time_ms: None, payload: Some(&message) }, |outcome| {
                if matches!(outcome, Outcome::Placed { .. }) {
                    placed.push(at);
                }
            });
        }
    }
    let Some(batch) = lane.close() else { return Decoded { placed, refused: Vec::new(), blocks: Vec::new() } };
    let refused = batch.counts.diverted.iter();
    let refused = refused.flat_map(|(reason, count)| (0..*count).map(|_| reason.code().to_owned())).collect();
    // What is refused stays where it is.
    let blocks = batch.blocks.into_iter().filter(|block| block.target.epoch.is_some()).collect();
    Decoded { placed, refused, blocks }
}

/// A record as a message of its own.
fn message(record: &[u8]) -> Vec<u8> {
    let mut envelope = vec![ROW];
    encode_varint(record.len() as u64, &mut envelope);
    envelope.extend_from_slice(record);
    let mut message = Vec::with_capacity(envelope.len() + 4);
    encode_varint(envelope.len() as u64, &mut message);
    message.extend_from_slice(&envelope);
    message
}
