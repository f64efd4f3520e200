//! The messages to measure with.

use prost::Message as _;

use crate::{proto::Envelope, wire::read_varint};

/// Message values, and what there is to know of them before measuring.
#[derive(Debug)]
pub struct Corpus {
    messages: Vec<Vec<u8>>,
    /// Positions of the messages that prost can decode as the newest epoch's types.
    comparable: Vec<usize>,
    /// Records in those.
    comparable_rows: u64,
}

impl Corpus {
    /// A corpus of these message values. Empty ones are left out.
    #[must_use]
    pub fn new(messages: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let messages: Vec<Vec<u8>> = messages.into_iter().filter(|message| !message.is_empty()).collect();
        let mut corpus = Self { messages, comparable: Vec::new(), comparable_rows: 0 };
        for (position, message) in corpus.messages.iter().enumerate() {
            if let Some(rows) = prost_rows(message) {
                corpus.comparable.push(position);
                corpus.comparable_rows += rows;
            }
        }
        corpus
    }

    /// The frames of a file, each a message of its own. From where the bytes are no frame on, the rest is one message.
    #[must_use]
    pub fn frames(mut bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        while !bytes.is_empty() {
            let end = read_varint(bytes, 0)
                .ok()
                .and_then(|(length, start)| start.checked_add(usize::try_from(length).ok()?))
                .filter(|end| *end <= bytes.len())
                .unwrap_or(bytes.len());
            let (frame, rest) = bytes.split_at(end);
            frames.push(frame.to_vec());
            bytes = rest;
        }
        frames
    }

    /// The messages.
    #[must_use]
    pub fn messages(&self) -> &[Vec<u8>] {
        &self.messages
    }

    /// Bytes of all messages.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.messages.iter().map(|message| message.len() as u64).sum()
    }

    /// The messages that prost can decode.
    pub fn comparable(&self) -> impl Iterator<Item = &[u8]> {
        self.comparable.iter().map(|position| &self.messages[*position][..])
    }

    /// Records in the messages that prost can decode.
    #[must_use]
    pub const fn comparable_rows(&self) -> u64 {
        self.comparable_rows
    }

    /// Whether prost can decode every message.
    #[must_use]
    pub fn is_comparable(&self) -> bool {
        self.comparable.len() == self.messages.len()
    }
}

/// The number of records if prost can decode all frames of the message.
fn prost_rows(message: &[u8]) -> Option<u64> {
    let mut rest = message;
    let mut rows = 0;
    while !rest.is_empty() {
        rows += Envelope::decode_length_delimited(&mut rest).ok()?.row.len() as u64;
    }
    Some(rows)
}
