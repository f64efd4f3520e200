//! Each record to the table of its epoch, each piece that can't be placed to the error table.

use std::sync::Arc;

use super::{
    Diverted, Lane, Message, Reason, Schema,
    decode::{Look, Row, Scratch},
    divert::{self, Explained},
    memory::Memory,
    varint::fast_pext,
};
use crate::{
    block::Shape,
    epoch::{Place, SCHEMA_VERSION},
    wire::Piece,
};

/// What a worker keeps between records: what it learned of the records' shape. One per thread.
#[derive(Debug)]
pub struct Decoder {
    schema: Arc<Schema>,
    epochs: Vec<EpochState>,
    scratch: Scratch,
    /// The position of epoch 0, and the layout that its last record had: it can't be seen from a record's first bytes.
    unversioned: Option<Place>,
    /// Records diverted since the last one that was placed.
    pub(super) diverted: u32,
    pub(super) pext: bool,
    /// Reads every record with care first.
    #[cfg(test)]
    pub(super) careful: bool,
}

#[derive(Debug)]
struct EpochState {
    /// By layout.
    memories: Vec<Memory>,
    /// Unknown fields since the last flush.
    unknown: Vec<(u32, u64)>,
    not_utf8: u64,
}

/// How many unknown field numbers are told apart per epoch in one go; the rest is counted under 0, which no field has.
const UNKNOWN_NUMBERS: usize = 64;

/// After so many diverted records in a row the next are looked at before anything is written: to write half a row and to take
/// it back costs several times as much, which only is the better bet while most records are good.
const LOOK_FIRST: u32 = 4;

/// What became of a record or piece, for those who want to know it one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A row of the table at that position of [`Schema::targets`].
    Placed {
        /// The position of the table.
        target: usize,
        /// The layout's position in the epoch.
        layout: usize,
    },
    /// A row of the error table.
    Diverted,
}

impl Decoder {
    /// A decoder that has seen nothing.
    #[must_use]
    pub fn new(schema: Arc<Schema>) -> Self {
        let epochs = schema.epochs.iter().map(|epoch| EpochState {
            memories: epoch.layouts.iter().map(Memory::new).collect(),
            unknown: Vec::new(),
            not_utf8: 0,
        });
        let unversioned = schema.registry.epochs().iter().position(|epoch| epoch.number == 0);
        let unversioned = unversioned.map(|epoch| Place { epoch, layout: schema.epochs[epoch].layouts.len() - 1 });
        Self {
            epochs: epochs.collect(),
            scratch: Scratch::default(),
            unversioned,
            diverted: 0,
            pext: fast_pext(),
            #[cfg(test)]
            careful: false,
            schema,
        }
    }

    /// The epoch and layout that a record seems to have, from its first bytes alone.
    #[inline]
    fn guess(&self, record: &[u8]) -> Option<Place> {
        #[cfg(test)]
        if self.careful {
            return None;
        }
        const KEY: u8 = (SCHEMA_VERSION as u8) << 3;
        match *record {
            [KEY, version, ..] if version < 0x80 => {
                let epoch = self.schema.epoch(version)?;
                Some(Place { epoch, layout: self.epochs[epoch].memories.len() - 1 })
            }
            _ => self.unversioned,
        }
    }
}

/// A lane that messages are being pushed into. Its end completes the counts.
#[derive(Debug)]
pub struct Filling<'a> {
    lane: &'a mut Lane,
    decoder: &'a mut Decoder,
}

impl<'a> Filling<'a> {
    pub(super) fn new(lane: &'a mut Lane, decoder: &'a mut Decoder) -> Self {
        assert!(Arc::ptr_eq(&lane.schema, &decoder.schema), "a lane and its decoder share one schema");
        decoder.epochs.iter_mut().flat_map(|epoch| &mut epoch.memories).for_each(|memory| memory.spans.forget());
        Self { lane, decoder }
    }

    pub(super) fn schema(&self) -> &Schema {
        &self.decoder.schema
    }

    /// Takes in one message. Its payload is not needed afterwards.
    #[inline]
    pub fn push(&mut self, message: Message<'_>) {
        self.push_with(message, |_| ());
    }

    /// As [`Filling::push`], telling what became of each record and piece, in message order.
    pub fn push_with(&mut self, message: Message<'_>, mut told: impl FnMut(Outcome)) {
        let first = self.lane.range.map_or(message.offset, |(first, _)| first);
        self.lane.range = Some((first, message.offset + 1));
        self.lane.counts.messages += 1;
        let payload = message.payload.unwrap_or_default();
        self.lane.counts.bytes += payload.len() as u64;
        if payload.is_empty() {
            let error = if message.payload.is_none() {
                "the message has no value (a tombstone)"
            } else {
                "the message is empty"
            };
            self.divert(
                message,
                &Diverted {
                    reason: Reason::EmptyMessage,
                    record: None,
                    byte_offset: 0,
                    schema_version: 0,
                    error: error.to_owned(),
                    raw: payload,
                },
            );
            return told(Outcome::Diverted);
        }
        let pieces = self.schema().pieces(payload);
        for piece in pieces {
            told(match piece {
                Piece::Record { index, at, bytes } => self.record(message, payload, index, at, at + bytes.len()),
                Piece::Refused { cut, bytes } => {
                    self.divert(
                        message,
                        &Diverted {
                            reason: divert::cut_reason(&cut),
                            record: None,
                            byte_offset: cut.at,
                            schema_version: 0,
                            error: cut.to_string(),
                            raw: bytes,
                        },
                    );
                    Outcome::Diverted
                }
            });
        }
    }

    /// Takes in one record by itself, with nothing around it.
    pub(super) fn push_record(&mut self, record: &[u8]) {
        self.lane.range.get_or_insert((0, 1));
        let message = Message { offset: 0, time_ms: None, payload: Some(record) };
        self.record(message, record, 0, 0, record.len());
    }

    /// Takes in a piece that is diverted for what is not to be seen from it.
    pub(super) fn push_diverted(&mut self, message: Message<'_>, piece: &Diverted<'_>) {
        self.lane.range.get_or_insert((message.offset, message.offset + 1));
        self.divert(message, piece);
    }

    #[inline]
    fn record(&mut self, message: Message<'_>, payload: &[u8], index: u32, start: usize, end: usize) -> Outcome {
        if self.decoder.diverted < LOOK_FIRST
            && let Some(place) = self.decoder.guess(&payload[start..end])
            && self.decoder.schema.epochs[place.epoch].layouts[place.layout].trusted
            && self.attempt(place, payload, |row, memory, pext| row.fast(memory, payload, start, end, pext))
        {
            self.decoder.diverted = 0;
            return Outcome::Placed { target: place.epoch, layout: place.layout };
        }
        self.record_with_care(message, payload, index, start, end)
    }

    /// Decodes a record that the hot path did not take.
    #[inline(never)]
    fn record_with_care(
        &mut self,
        message: Message<'_>,
        payload: &[u8],
        index: u32,
        start: usize,
        end: usize,
    ) -> Outcome {
        let schema = Arc::clone(&self.decoder.schema);
        let raw = &payload[start..end];
        let diverted = |reason, schema_version, error| Diverted {
            reason,
            record: Some(index),
            byte_offset: start,
            schema_version,
            error,
            raw,
        };
        // A record that will be diverted like those before it had better not be written first.
        let guess = (self.decoder.diverted >= LOOK_FIRST).then(|| self.decoder.guess(raw)).flatten();
        let plan = |place: Place| &schema.epochs[place.epoch].layouts[place.layout];
        let mut look = guess.map(|place| Look::new(plan(place), &schema.registry.epochs()[place.epoch].columns));
        let identified = schema.registry.identify_with(raw, |field| {
            if let Some(look) = &mut look {
                look.take(field);
            }
        });
        let piece = match identified {
            Err(unidentified) => {
                let fault = unidentified.fault;
                let (kind, at) = (fault.kind, start + fault.at);
                let error = format!("record {index} at byte {start}: the field at byte {at}: {kind}");
                diverted(divert::fault_reason(&fault), unidentified.schema_version, error)
            }
            Ok(identity) => match identity.place {
                None => {
                    let version = identity.schema_version;
                    let known: Vec<_> = schema.registry.epochs().iter().map(|e| e.number.to_string()).collect();
                    let known = known.join(", ");
                    let error = format!(
                        "record {index} at byte {start}: schema_version {version} has no definition (there are {known})"
                    );
                    diverted(Reason::UnknownEpoch, version, error)
                }
                Some(place) => {
                    let epoch = &schema.registry.epochs()[place.epoch];
                    let mut refused = look.filter(|_| guess == Some(place)).and_then(|look| look.refused(start));
                    let placed = refused.is_none()
                        && self.attempt(place, payload, |row, _, _| {
                            refused = row.careful(&epoch.columns, payload, start, end).err();
                            refused.is_none()
                        });
                    if placed {
                        self.decoder.diverted = 0;
                        if epoch.number == 0 {
                            self.decoder.unversioned = Some(place);
                        }
                        return Outcome::Placed { target: place.epoch, layout: place.layout };
                    }
                    let refused = refused.expect("a careful row that is not placed says why");
                    let layout = &epoch.layouts[place.layout].name;
                    let explained = Explained { refused, epoch, layout, record: index, record_at: start };
                    diverted(divert::refused_reason(&refused), epoch.number, explained.to_string())
                }
            },
        };
        self.decoder.diverted = self.decoder.diverted.saturating_add(1);
        self.divert(message, &piece);
        Outcome::Diverted
    }

    /// Writes one row with `decode`, and keeps it if that says so.
    #[inline]
    fn attempt(
        &mut self,
        place: Place,
        payload: &[u8],
        decode: impl FnOnce(&mut Row<'_>, &mut Memory, bool) -> bool,
    ) -> bool {
        let Self { lane, decoder } = self;
        let Decoder { schema, epochs, scratch, pext, .. } = &mut **decoder;
        let epoch = &schema.epochs[place.epoch];
        let state = &mut epochs[place.epoch];
        let columns = lane.blocks[place.epoch].get_or_insert_with(|| schema.columns(place.epoch));
        let (tile, strings) = columns.next_row(|| schema.tile(place.epoch));
        let plan = &epoch.layouts[place.layout];
        let mut row = Row { plan, tile, strings, scratch };
        let memory = &mut state.memories[place.layout];
        if !decode(&mut row, memory, *pext) {
            row.abandon(&epoch.table.shape);
            memory.spans.forget();
            return false;
        }
        row.finish(payload);
        state.not_utf8 += scratch.not_utf8;
        for &number in &scratch.unknown {
            count_unknown(&mut state.unknown, number);
        }
        true
    }

    fn divert(&mut self, message: Message<'_>, piece: &Diverted<'_>) {
        let schema = &self.decoder.schema;
        let target = schema.epochs.len();
        let columns = self.lane.blocks[target].get_or_insert_with(|| schema.columns(target));
        let (tile, strings) = columns.next_row(|| schema.tile(target));
        let (topic, partition) = (&self.lane.topic, self.lane.partition);
        divert::append(&schema.errors, tile, strings, topic, partition, message, piece);
        *self.lane.counts.diverted.entry(piece.reason).or_default() += 1;
    }

    /// Bytes of memory that the open batch takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.lane.bytes()
    }

    /// Rows of the open batch over all tables.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.lane.rows()
    }
}

impl Row<'_> {
    /// Completes the row: its texts go to their columns.
    #[inline]
    fn finish(self, message: &[u8]) {
        for (text, &(start, end)) in self.scratch.texts.iter().enumerate() {
            self.strings.push_text(text, message, start, end);
        }
        self.tile.finish_row();
    }

    /// Takes the row back, leaving no trace: what an attempt touched may not show in the block.
    #[cold]
    fn abandon(self, shape: &Shape) {
        self.tile.abandon_row(shape);
        for &dictionary in self.scratch.added.iter().rev() {
            self.strings.dictionary_mut(dictionary).forget_newest();
        }
    }
}

fn count_unknown(counts: &mut Vec<(u32, u64)>, number: u32) {
    let place = |counts: &[(u32, u64)], number| counts.iter().position(|(n, _)| *n == number);
    let number = if counts.len() < UNKNOWN_NUMBERS || place(counts, number).is_some() { number } else { 0 };
    match place(counts, number) {
        Some(at) => counts[at].1 += 1,
        None => counts.push((number, 1)),
    }
}

impl Drop for Filling<'_> {
    /// Moves what was counted into the lane.
    fn drop(&mut self) {
        let Decoder { schema, epochs, .. } = &mut *self.decoder;
        for (epoch, state) in schema.registry.epochs().iter().zip(epochs) {
            for (number, count) in state.unknown.drain(..) {
                *self.lane.counts.unknown_fields.entry((epoch.number, number)).or_default() += count;
            }
            if state.not_utf8 > 0 {
                *self.lane.counts.not_utf8.entry(epoch.number).or_default() += std::mem::take(&mut state.not_utf8);
            }
        }
    }
}
