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
    lane::{Batch, Decoder, Lane, Message, Schema},
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
        let mut messages = (0i64..).zip(corpus.messages().iter().map(Vec::as_slice)).peekable();
        while messages.peek().is_some() {
            let begin = Instant::now();
            let batch = self.batch(&mut messages, Codec::Plain);
            round.encode += begin.elapsed();
            let Some(batch) = batch else { continue };
            round.diverted += batch.counts.diverted.values().sum::<u64>();
            for block in batch.blocks {
                round.rows += block.rows;
                round.native_bytes += block.native_bytes;
                let begin = Instant::now();
                let mut writer = FrameWriter::default();
                writer.write(&block.body);
                round.packed_bytes += black_box(writer.finish()).len() as u64;
                round.compress += begin.elapsed();
            }
        }
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
            self.decode(corpus.comparable(), Codec::Plain);
            begin.elapsed()
        };
        round
    }

    /// The way of `run`: message values to compressed blocks.
    pub(super) fn whole(&mut self) {
        self.decode(self.corpus.messages().iter().map(Vec::as_slice), Codec::Lz4);
    }

    fn decode<'m>(&mut self, messages: impl Iterator<Item = &'m [u8]>, codec: Codec) {
        let mut messages = (0i64..).zip(messages).peekable();
        while messages.peek().is_some() {
            black_box(self.batch(&mut messages, codec));
        }
    }

    /// One batch, as `run` would close it.
    fn batch<'m>(&mut self, messages: &mut impl Iterator<Item = (i64, &'m [u8])>, codec: Codec) -> Option<Batch> {
        let mut filling = self.lane.fill(&mut self.decoder);
        for (offset, payload) in messages {
            filling.push(Message { offset, time_ms: Some(0), payload: Some(payload) });
            if filling.rows() >= self.batch_rows {
                break;
            }
        }
        drop(filling);
        self.lane.close_as(codec)
    }
}
