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
    lane::{Batch, Decoder, Lane, Message, SECTION_ROWS, Schema, TURN_BYTES, TURN_MESSAGES},
    proto::Envelope,
};

/// When a batch is closed.
#[derive(Debug, Clone, Copy)]
pub struct Full {
    /// At so many rows over all tables.
    pub rows: u64,
    /// At so many bytes of columns before compression.
    pub bytes: usize,
}

impl Full {
    const fn is_reached(self, rows: u64, bytes: usize) -> bool {
        rows >= self.rows || bytes >= self.bytes
    }
}

/// One thread's tools.
pub(super) struct Bench<'a> {
    corpus: &'a Corpus,
    full: Full,
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
    pub(super) fn new(schema: &Arc<Schema>, corpus: &'a Corpus, full: Full) -> Self {
        let decoder = Decoder::new(Arc::clone(schema));
        let lane = Lane::new(Arc::clone(schema), Arc::from("bench"), 0);
        Self { corpus, full, decoder, lane, chunk: Chunk::default() }
    }

    /// Every stage once.
    pub(super) fn round(&mut self) -> Round {
        let corpus = self.corpus;
        let mut round = Round::default();
        let mut native = Vec::new();
        let (mut compress, mut packed_bytes) = (Duration::ZERO, 0);
        let all = corpus.messages().iter().map(|message| &message[..]);
        round.encode = self.encode(all, |shape, columns| {
            native.clear();
            encode(shape, columns, &mut native);
            let begin = Instant::now();
            let mut writer = FrameWriter::default();
            writer.write(&native);
            let body = writer.finish();
            compress += begin.elapsed();
            packed_bytes += body.len() as u64;
            round.native_bytes += native.len() as u64;
        });
        (round.compress, round.packed_bytes) = (compress, packed_bytes);
        let begin = Instant::now();
        for mut message in corpus.comparable() {
            while !message.is_empty() {
                black_box(Envelope::decode_length_delimited(&mut message).is_ok());
            }
        }
        round.prost = begin.elapsed();
        round.comparable =
            if corpus.is_comparable() { round.encode } else { self.encode(corpus.comparable(), |_, _| ()) };
        round
    }

    /// Message values to Native blocks: the time it took, without what `beside` does with each section.
    fn encode<'m>(
        &mut self,
        messages: impl Iterator<Item = &'m [u8]>,
        mut beside: impl FnMut(&Shape, &Columns),
    ) -> Duration {
        let mut spent = Duration::ZERO;
        let mut messages = (0i64..).zip(messages).peekable();
        while messages.peek().is_some() {
            let begin = Instant::now();
            self.fill(&mut messages);
            spent += begin.elapsed();
            self.seal(messages.peek().is_none(), |chunk, shape, columns| {
                let begin = Instant::now();
                encode(shape, columns, chunk);
                spent += begin.elapsed();
                beside(shape, columns);
                Encoded::default()
            });
        }
        spent
    }

    /// The way of `run`: message values to compressed blocks.
    pub(super) fn whole(&mut self) {
        let corpus = self.corpus;
        let mut messages = (0i64..).zip(corpus.messages().iter().map(|message| &message[..])).peekable();
        while messages.peek().is_some() {
            self.fill(&mut messages);
            black_box(self.seal(messages.peek().is_none(), |_, shape, columns| block::seal(shape, columns)));
        }
    }

    /// As many messages as `run` reads in one turn, or closes a batch after.
    fn fill<'m>(&mut self, messages: &mut impl Iterator<Item = (i64, &'m [u8])>) {
        let mut filling = self.lane.fill(&mut self.decoder);
        let mut bytes = 0;
        for (offset, payload) in messages.take(TURN_MESSAGES) {
            filling.push(Message { offset, time_ms: Some(0), payload: Some(payload) });
            bytes += payload.len();
            if bytes >= TURN_BYTES || self.full.is_reached(filling.rows(), filling.bytes()) {
                break;
            }
        }
    }

    /// Has `seal` make sections of what is due after a turn, and the batch of them if it is full or nothing is left.
    fn seal(&mut self, is_end: bool, mut seal: impl FnMut(&mut Chunk, &Shape, &Columns) -> Encoded) -> Option<Batch> {
        let seal = |shape: &Shape, columns: &Columns| seal(&mut self.chunk, shape, columns);
        if is_end || self.full.is_reached(self.lane.rows(), self.lane.bytes()) {
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
