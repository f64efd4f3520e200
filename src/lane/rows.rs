//! The rows of a block one by one, with the records that they came from: for a block that the server refuses for some of
//! them.

use std::sync::Arc;

use super::{Block, Decoder, Diverted, Lane, Message, Outcome, Reason, Schema};
use crate::wire::Piece;

/// A record that became a row of some table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowSource {
    /// The offset of its message.
    pub offset: i64,
    /// The message's time stamp in milliseconds since 1970, if it has one.
    pub time_ms: Option<i64>,
    /// Its position in the message.
    pub record: u32,
    /// Where it starts in the message.
    pub byte_offset: usize,
    /// The record itself.
    pub raw: Vec<u8>,
}

impl RowSource {
    /// The records that became the rows of the table at that position of [`Schema::targets`], in the order of the block.
    pub fn of<'a>(schema: &Arc<Schema>, target: usize, messages: impl IntoIterator<Item = Message<'a>>) -> Vec<Self> {
        let mut decoder = Decoder::new(Arc::clone(schema));
        let mut lane = Lane::new(Arc::clone(schema), Arc::from(""), 0);
        let mut sources = Vec::new();
        for message in messages {
            let mut outcomes = Vec::new();
            lane.fill(&mut decoder).push_with(message, |outcome| outcomes.push(outcome));
            let payload = message.payload.unwrap_or_default();
            for (piece, outcome) in schema.pieces(payload).zip(outcomes) {
                if let Piece::Record { index, at, bytes } = piece
                    && matches!(outcome, Outcome::Placed { target: of, .. } if of == target)
                {
                    let Message { offset, time_ms, .. } = message;
                    sources.push(Self { offset, time_ms, record: index, byte_offset: at, raw: bytes.to_vec() });
                }
            }
            // Only what became of each record is of interest.
            lane.close();
        }
        sources
    }

    /// A block of these rows alone.
    #[must_use]
    pub fn block(schema: &Arc<Schema>, target: usize, rows: &[Self]) -> Option<Block> {
        let mut decoder = Decoder::new(Arc::clone(schema));
        let mut lane = Lane::new(Arc::clone(schema), Arc::from(""), 0);
        {
            let mut filling = lane.fill(&mut decoder);
            rows.iter().for_each(|row| filling.push_record(&row.raw));
        }
        let table = &schema.targets()[target];
        let batch = lane.close()?;
        batch.blocks.into_iter().find(|block| block.target == *table && block.rows == rows.len() as u64)
    }

    /// A block of the error table that holds these rows, each with what the server said of it.
    #[must_use]
    pub fn refused(
        schema: &Arc<Schema>,
        target: usize,
        topic: &Arc<str>,
        partition: i32,
        rows: &[(&Self, &str)],
    ) -> Option<Block> {
        let schema_version = schema.targets()[target].epoch.unwrap_or_default();
        let mut decoder = Decoder::new(Arc::clone(schema));
        let mut lane = Lane::new(Arc::clone(schema), Arc::clone(topic), partition);
        {
            let mut filling = lane.fill(&mut decoder);
            for (row, cause) in rows {
                let message = Message { offset: row.offset, time_ms: row.time_ms, payload: None };
                let error = format!("record {} at byte {}: {cause}", row.record, row.byte_offset);
                filling.push_diverted(
                    message,
                    &Diverted {
                        reason: Reason::RefusedByServer,
                        record: Some(row.record),
                        byte_offset: row.byte_offset,
                        schema_version,
                        error,
                        raw: &row.raw,
                    },
                );
            }
        }
        lane.close()?.blocks.into_iter().next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Framing;
    use crate::epoch::load;
    use prost::encoding::{bytes, encode_varint, string, uint32, uint64};

    /// A record as epochs 1 and 2 number it.
    fn record(number: u64, epoch: u32) -> Vec<u8> {
        let mut record = Vec::new();
        uint32::encode(1, &epoch, &mut record);
        string::encode(20, &"h".to_owned(), &mut record);
        uint64::encode(60, &number, &mut record);
        record
    }

    fn message(records: Vec<Vec<u8>>) -> Vec<u8> {
        let mut envelope = Vec::new();
        records.iter().for_each(|record| bytes::encode(10, record, &mut envelope));
        let mut message = Vec::new();
        encode_varint(envelope.len() as u64, &mut message);
        [message, envelope].concat()
    }

    #[test]
    fn rows_lead_back_to_their_records_and_make_the_same_block_again() {
        let schema = Schema::new(&load::embedded().expect("sound definitions"), "errors", Framing::Delimited);
        let target = schema.targets().iter().position(|target| target.epoch == Some(2)).expect("epoch 2");
        let values = [
            message(vec![record(1, 2), record(2, 1), record(3, 2)]),
            message(vec![record(4, 99), record(5, 2)]),
            vec![0xff],
            message(vec![record(6, 2)]),
        ];
        let messages = || {
            values.iter().enumerate().map(|(n, value)| Message {
                offset: 10 + n as i64,
                time_ms: Some(5),
                payload: Some(value),
            })
        };
        let mut decoder = Decoder::new(schema.clone());
        let mut lane = Lane::new(schema.clone(), "t".into(), 0);
        messages().for_each(|message| lane.fill(&mut decoder).push(message));
        let whole =
            lane.close().expect("a batch").blocks.into_iter().find(|b| b.target.epoch == Some(2)).expect("a block");

        let rows = RowSource::of(&schema, target, messages());
        let places: Vec<_> = rows.iter().map(|row| (row.offset, row.record)).collect();
        assert_eq!(places, [(10, 0), (10, 2), (11, 1), (13, 0)]);
        assert_eq!(rows[2].raw, record(5, 2));
        assert_eq!(&values[1][rows[2].byte_offset..][..rows[2].raw.len()], rows[2].raw);
        let again = RowSource::block(&schema, target, &rows).expect("a block");
        assert_eq!((again.rows, again.body), (4, whole.body));
        assert_eq!(RowSource::block(&schema, target, &rows[1..3]).expect("a block").rows, 2);

        let refused = RowSource::refused(&schema, target, &"t".into(), 3, &[(&rows[0], "no"), (&rows[3], "no")]);
        let refused = refused.expect("a block");
        assert_eq!((refused.rows, refused.target.epoch), (2, None));
    }
}
