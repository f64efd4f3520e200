//! The timed stages.

use std::{
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use prost::Message as _;

use super::{Chunk, Corpus, Full, turn};
use crate::{
    block::{self, Columns, Encoded, FrameWriter, Shape, encode},
    lane::{Batch, Decoder, Lane, SECTION_ROWS, Schema},
    proto::Envelope,
};

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
        let all = corpus.messages().iter().map(|message| &message[..]);
        round.encode = self.encode(all, |shape, columns| {
            native.clear();
            encode(shape, columns, &mut native);
            let begin = Instant::now();
            let mut writer = FrameWriter::default();
            writer.write(&native);
            let body = writer.finish();
            round.compress += begin.elapsed();
            round.packed_bytes += body.len() as u64;
            round.native_bytes += native.len() as u64;
        });
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
        let mut messages = (0i64..).zip(messages.map(Some)).peekable();
        while messages.peek().is_some() {
            let begin = Instant::now();
            turn(&mut self.lane, &mut self.decoder, &mut messages, self.full);
            spent += begin.elapsed();
            self.seal(messages.peek().is_none(), |chunk, shape, columns| {
                let begin = Instant::now();
                let encoded = chunk.section(shape, columns);
                spent += begin.elapsed();
                beside(shape, columns);
                encoded
            });
        }
        spent
    }

    /// The way of `run`: message values to compressed blocks.
    pub(super) fn whole(&mut self) {
        let corpus = self.corpus;
        let mut messages = (0i64..).zip(corpus.messages().iter().map(|message| Some(&message[..]))).peekable();
        while messages.peek().is_some() {
            turn(&mut self.lane, &mut self.decoder, &mut messages, self.full);
            black_box(self.seal(messages.peek().is_none(), |_, shape, columns| block::seal(shape, columns)));
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
