//! The messages to measure with.

use std::sync::Arc;

use bytes::Bytes;
use prost::Message as _;

use crate::{
    block::Encoded,
    lane::{Decoder, Lane, Message, Outcome, SECTION_ROWS, Schema},
    proto::Envelope,
    wire::{Piece, Pieces},
};

/// Message values, and what there is to know of them before measuring.
#[derive(Debug)]
pub struct Corpus {
    messages: Vec<Bytes>,
    /// Records that are placed and pieces that are diverted.
    rows: u64,
    diverted: u64,
    /// Positions of the messages that prost can decode as the newest epoch's types, record by record as they are read here.
    comparable: Vec<usize>,
    /// Records in those.
    comparable_rows: u64,
    /// Pieces of those that are diverted.
    comparable_diverted: u64,
}

impl Corpus {
    /// A corpus of these message values. Empty ones are left out.
    #[must_use]
    pub fn new(schema: &Arc<Schema>, messages: impl IntoIterator<Item = Bytes>) -> Self {
        let messages: Vec<Bytes> = messages.into_iter().filter(|message| !message.is_empty()).collect();
        let mut corpus =
            Self { messages, rows: 0, diverted: 0, comparable: Vec::new(), comparable_rows: 0, comparable_diverted: 0 };
        let mut decoder = Decoder::new(Arc::clone(schema));
        let mut lane = Lane::new(Arc::clone(schema), Arc::from("bench"), 0);
        for (position, message) in corpus.messages.iter().enumerate() {
            let (mut pieces, mut diverted) = (0, 0);
            let value = Message { offset: position as i64, time_ms: Some(0), payload: Some(message) };
            lane.fill(&mut decoder).push_with(value, |outcome| {
                pieces += 1;
                diverted += u64::from(outcome == Outcome::Diverted);
            });
            corpus.rows += pieces;
            corpus.diverted += diverted;
            // A frame that is diverted whole is hardly any work, and prost decodes what is in it.
            let in_records = Pieces::delimited(message).all(|piece| matches!(piece, Piece::Record { .. }));
            if pieces > 0 && in_records && is_decodable(message) {
                corpus.comparable.push(position);
                corpus.comparable_rows += pieces;
                corpus.comparable_diverted += diverted;
            }
            if lane.rows() >= SECTION_ROWS as u64 {
                lane.close_with(|_, _| Encoded::default());
            }
        }
        corpus
    }

    /// The messages.
    #[must_use]
    pub fn messages(&self) -> &[Bytes] {
        &self.messages
    }

    /// Bytes of all messages.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.messages.iter().map(|message| message.len() as u64).sum()
    }

    /// Rows that come of all messages, the diverted pieces among them.
    #[must_use]
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// Diverted pieces.
    #[must_use]
    pub const fn diverted(&self) -> u64 {
        self.diverted
    }

    /// The messages all of which is records, and that prost can decode.
    pub fn comparable(&self) -> impl Iterator<Item = &[u8]> {
        self.comparable.iter().map(|position| &self.messages[*position][..])
    }

    /// Records in the comparable messages.
    #[must_use]
    pub const fn comparable_rows(&self) -> u64 {
        self.comparable_rows
    }

    /// Records of the comparable messages that are diverted: more work than decoding them, which the comparison holds against us.
    #[must_use]
    pub const fn comparable_diverted(&self) -> u64 {
        self.comparable_diverted
    }

    /// Whether every message is comparable.
    #[must_use]
    pub fn is_comparable(&self) -> bool {
        self.comparable.len() == self.messages.len()
    }
}

/// Whether prost can decode all frames of the message.
fn is_decodable(message: &[u8]) -> bool {
    let mut rest = message;
    while !rest.is_empty() {
        if Envelope::decode_length_delimited(&mut rest).is_err() {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::Framing,
        epoch::load,
        fleet::{Fleet, Options, options},
    };

    #[test]
    fn what_prost_decodes_and_we_divert_is_counted() {
        let registry = load::embedded().expect("the definitions");
        let schema = Schema::new(&registry, "errors", Framing::Delimited);
        let corpus = |fault: &str| {
            let mut options = Options { rows: 200, mixed_every: 0, envelope: 10..=10, ..Options::default() };
            options.mix = options::mix("e2=1").expect("a mix");
            options.faults = options::faults(fault, 200, options::Carrier::File).expect("a fault");
            let fleet = Fleet::new(options, &registry).expect("a fleet");
            Corpus::new(&schema, fleet.filter_map(|message| message.payload).map(Bytes::from))
        };
        let good = corpus("");
        assert_eq!((good.rows(), good.diverted(), good.comparable_rows()), (200, 0, 200));
        assert!(good.is_comparable());
        let unknown = corpus("future_epoch=3");
        assert_eq!((unknown.rows(), unknown.diverted(), unknown.comparable_diverted()), (203, 3, 3));
        assert!(unknown.is_comparable(), "prost knows nothing of epochs");
        let frames = corpus("foreign_envelope_field=3");
        assert_eq!((frames.diverted(), frames.comparable_diverted()), (3, 0));
        assert!(!frames.is_comparable(), "prost decodes what is diverted whole");
        let broken = corpus("truncated_record=3");
        assert_eq!((broken.diverted(), broken.comparable_diverted()), (3, 0));
        assert!(!broken.is_comparable() && broken.comparable_rows() < 200);
    }
}
