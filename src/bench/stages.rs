//! The timed stages.

use std::{
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use prost::Message as _;

use super::Corpus;
use crate::{
    block::{self, CHUNK, Columns, Encoded, FrameWriter, Shape, Sink, encode},
    lane::{Batch, Decoder, Lane, Message, SECTION_ROWS, Schema, TURN_BYTES},
    proto::Envelope,
};

/// One thread's tools.
pub(super) struct Bench<'a> {
    corpus: &'a Corpus,
    batch_rows: u64,
    decoder: Decoder,
    lane: Lane,
    chunk: Chunk,
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
        Self { corpus, batch_rows, decoder, lane, chunk: Chunk::default() }
    }

    /// Every stage once.
    pub(super) fn round(&mut self) -> Round {
        let mut round = Round::default();
        let corpus = self.corpus;
        let mut messages = (0i64..).zip(corpus.messages().iter().map(Vec::as_slice)).peekable();
        let mut native = Vec::new();
        while messages.peek().is_some() {
            let begin = Instant::now();
            self.fill(&mut messages);
            round.encode += begin.elapsed();
            let batch = self.seal(messages.peek().is_none(), |chunk, shape, columns| {
                let begin = Instant::now();
                encode(shape, columns, chunk);
                round.encode += begin.elapsed();
                native.clear();
                encode(shape, columns, &mut native);
                let begin = Instant::now();
                let mut writer = FrameWriter::default();
                writer.write(&native);
                let body = writer.finish();
                round.compress += begin.elapsed();
                round.packed_bytes += body.len() as u64;
                Encoded { body: Vec::new(), native_bytes: native.len() as u64 }
            });
            let Some(batch) = batch else { continue };
            round.diverted += batch.counts.diverted.values().sum::<u64>();
            for block in batch.blocks {
                round.rows += block.rows;
                round.native_bytes += block.native_bytes;
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
            let mut messages = (0i64..).zip(corpus.comparable()).peekable();
            while messages.peek().is_some() {
                self.fill(&mut messages);
                self.seal(messages.peek().is_none(), |chunk, shape, columns| {
                    encode(shape, columns, chunk);
                    Encoded::default()
                });
            }
            begin.elapsed()
        };
        round
    }

    /// The way of `run`: message values to compressed blocks.
    pub(super) fn whole(&mut self) {
        let mut messages = (0i64..).zip(self.corpus.messages().iter().map(Vec::as_slice)).peekable();
        while messages.peek().is_some() {
            self.fill(&mut messages);
            black_box(self.seal(messages.peek().is_none(), |_, shape, columns| block::seal(shape, columns)));
        }
    }

    /// As many messages as `run` reads in one turn, or closes a batch after.
    fn fill<'m>(&mut self, messages: &mut impl Iterator<Item = (i64, &'m [u8])>) {
        let mut filling = self.lane.fill(&mut self.decoder);
        let mut bytes = 0;
        for (offset, payload) in messages {
            filling.push(Message { offset, time_ms: Some(0), payload: Some(payload) });
            bytes += payload.len();
            if bytes >= TURN_BYTES || filling.rows() >= self.batch_rows {
                break;
            }
        }
    }

    /// Has `seal` make sections of what is due after a turn, and the batch of them if it is full or nothing is left.
    fn seal(&mut self, is_end: bool, mut seal: impl FnMut(&mut Chunk, &Shape, &Columns) -> Encoded) -> Option<Batch> {
        let seal = |shape: &Shape, columns: &Columns| seal(&mut self.chunk, shape, columns);
        if is_end || self.lane.rows() >= self.batch_rows {
            return self.lane.close_with(seal);
        }
        self.lane.seal_sections_with(SECTION_ROWS, seal);
        None
    }
}

/// Takes a block in as the compressor does, chunk by chunk, and leaves it at that.
#[derive(Debug, Default)]
struct Chunk(Vec<u8>);

impl Sink for Chunk {
    fn write(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (now, rest) = bytes.split_at(bytes.len().min(CHUNK - self.0.len()));
            self.0.extend_from_slice(now);
            bytes = rest;
            if self.0.len() == CHUNK {
                black_box(&self.0);
                self.0.clear();
            }
        }
    }
}
