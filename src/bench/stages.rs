//! The timed stages.

use std::{
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use prost::Message as _;

use super::Corpus;
use crate::{
    block::{Codec, FrameWriter},
    lane::{Decoder, Lane, Message, Schema},
    proto::Envelope,
};

/// One thread's tools.
pub(super) struct Bench<'a> {
    corpus: &'a Corpus,
    batch_rows: u64,
    decoder: Decoder,
    lane: Lane,
}

/// What one round took.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Round {
    /// Message values to Native blocks.
    pub encode: Duration,
    /// Native blocks to LZ4 frames.
    pub compress: Duration,
    /// Message values to prost's structs, of those that prost can decode.
    pub prost: Duration,
    /// Message values to Native blocks, of those that prost can decode.
    pub comparable: Duration,
    /// Rows, the diverted pieces among them.
    pub rows: u64,
    /// Diverted pieces.
    pub diverted: u64,
    /// Bytes of the Native blocks.
    pub native_bytes: u64,
    /// Bytes of the frames.
    pub packed_bytes: u64,
}

impl Round {
    pub(super) fn spent(&self) -> Duration {
        self.encode + self.compress + self.prost + self.comparable
    }
}

impl<'a> Bench<'a> {
    pub(super) fn new(schema: &Arc<Schema>, corpus: &'a Corpus, batch_rows: u64) -> Self {
        let decoder = Decoder::new(Arc::clone(schema));
        let lane = Lane::new(Arc::clone(schema), Arc::from("bench"), 0);
        Self { corpus, batch_rows, decoder, lane }
    }

    /// Every stage once.
    pub(super) fn round(&mut self) -> Round {
        let mut round = Round::default();
        let corpus = self.corpus;
        let begin = Instant::now();
        let blocks = self.decode(corpus.messages().iter().map(Vec::as_slice), Codec::Plain);
        round.encode = begin.elapsed();
        let begin = Instant::now();
        for block in &blocks.bodies {
            let mut writer = FrameWriter::default();
            writer.write(block);
            round.packed_bytes += black_box(writer.finish()).len() as u64;
        }
        round.compress = begin.elapsed();
        (round.rows, round.diverted, round.native_bytes) = (blocks.rows, blocks.diverted, blocks.native_bytes);
        drop(blocks);
        let begin = Instant::now();
        for mut message in corpus.comparable() {
            while !message.is_empty() {
                black_box(Envelope::decode_length_delimited(&mut message).is_ok());
            }
        }
        round.prost = begin.elapsed();
        round.comparable = if corpus.is_comparable() {
            round.encode
        } else {
            let begin = Instant::now();
            black_box(self.decode(corpus.comparable(), Codec::Plain).rows);
            begin.elapsed()
        };
        round
    }

    /// The way of `run`: message values to compressed blocks.
    pub(super) fn whole(&mut self) {
        let messages = self.corpus.messages().iter().map(Vec::as_slice);
        black_box(self.decode(messages, Codec::Lz4).rows);
    }

    fn decode<'m>(&mut self, messages: impl Iterator<Item = &'m [u8]>, codec: Codec) -> Blocks {
        let mut blocks = Blocks::default();
        let mut messages = (0i64..).zip(messages).peekable();
        while messages.peek().is_some() {
            let mut filling = self.lane.fill(&mut self.decoder);
            for (offset, payload) in messages.by_ref() {
                filling.push(Message { offset, time_ms: Some(0), payload: Some(payload) });
                if filling.rows() >= self.batch_rows {
                    break;
                }
            }
            drop(filling);
            if let Some(batch) = self.lane.close_as(codec) {
                blocks.diverted += batch.counts.diverted.values().sum::<u64>();
                for block in batch.blocks {
                    blocks.rows += block.rows;
                    blocks.native_bytes += block.native_bytes;
                    blocks.bodies.push(block.body);
                }
            }
        }
        blocks
    }
}

#[derive(Default)]
struct Blocks {
    bodies: Vec<bytes::Bytes>,
    rows: u64,
    diverted: u64,
    native_bytes: u64,
}
