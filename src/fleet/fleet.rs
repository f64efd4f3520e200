//! The fleet itself: an iterator of messages.

use std::collections::BTreeMap;

use super::{
    broken,
    checksum::Checksum,
    columns::Columns,
    crew::Crew,
    envelope::{Envelope, Value, bare, confluent},
    expected::{Expected, Message, Totals},
    fault::{Fault, Place},
    layout::Writer,
    oddity::Oddity,
    options::{Carrier, OptionError, Options},
    random::Random,
    schedule::Schedule,
    slots::Slots,
    socket,
    sockets::Sockets,
    values::Values,
};
use crate::{
    config::Framing,
    epoch::{ProtoType, Registry},
};

/// Records of a fleet of hosts, message by message.
#[derive(Debug)]
pub struct Fleet {
    options: Options,
    writers: Vec<Writer>,
    newest: u32,
    slots: Slots,
    sockets: Sockets,
    crew: Crew,
    record_faults: Schedule<Fault>,
    frame_faults: Schedule<Fault>,
    message_faults: Schedule<Fault>,
    record_oddities: Schedule<Oddity>,
    message_oddities: Schedule<Oddity>,
    random: Random,
    rows: u64,
    cookie: u64,
    envelopes: u32,
    totals: Totals,
    /// Records that must land, by layout.
    layouts: Vec<u64>,
    values: Values,
    record: Vec<u8>,
}

impl Fleet {
    /// A fleet that writes the layouts of these definitions.
    ///
    /// # Errors
    /// When the options contradict each other or the definitions.
    pub fn new(options: Options, registry: &Registry) -> Result<Self, OptionError> {
        options.check()?;
        let columns = Columns::new(registry);
        let (writers, slots) = (Writer::all(registry, &columns), Slots::new(&columns));
        let carrier = Carrier::Message(options.framing);
        for fault in options.faults.keys() {
            if let Some(how) = fault.refusal(carrier) {
                return Err(OptionError::Unfit { name: fault.name(), how });
            }
            if !writers.iter().any(|writer| can_have(*fault, writer, &slots)) {
                return Err(OptionError::NoLayout { name: fault.name() });
            }
        }
        for oddity in options.oddities.keys() {
            if let Some(how) = oddity.refusal(carrier) {
                return Err(OptionError::Unfit { name: oddity.name(), how });
            }
        }
        let faults = |place: Place| {
            let faults = options.faults.iter().filter(move |(fault, _)| fault.facts().place == place);
            Schedule::new(faults.map(|(fault, count)| (*fault, *count)), options.rows)
        };
        let oddities = |of_message: bool| {
            let oddities = options.oddities.iter().filter(move |(oddity, _)| oddity.is_of_message() == of_message);
            Schedule::new(oddities.map(|(oddity, count)| (*oddity, *count)), options.rows)
        };
        Ok(Self {
            crew: Crew::new(&options, &writers, &slots)?,
            newest: registry.newest().number,
            sockets: Sockets::new(&columns),
            record_faults: faults(Place::Record),
            frame_faults: faults(Place::Frame),
            message_faults: faults(Place::Message),
            record_oddities: oddities(false),
            message_oddities: oddities(true),
            random: Random::of(&[options.seed, 0]),
            rows: 0,
            cookie: options.first_cookie,
            envelopes: 0,
            totals: Totals { checksums: checksums(&options, registry), ..Totals::default() },
            layouts: vec![0; writers.len()],
            values: Values::new(columns.count()),
            record: Vec::with_capacity(2048),
            writers,
            slots,
            options,
        })
    }

    /// What was sent so far and must come of it.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let layouts = self.writers.iter().zip(&self.layouts).filter(|(_, records)| **records > 0);
        Totals { layouts: layouts.map(|(w, records)| (w.name.clone(), *records)).collect(), ..self.totals.clone() }
    }

    /// The table of each epoch.
    pub fn tables(&self) -> impl Iterator<Item = (u32, &str)> {
        self.writers.iter().map(|w| (w.epoch, w.table.as_str()))
    }

    /// A message that is a fault as a whole: one that is due by `row`, or any.
    fn faulty_message(&mut self, row: Option<u64>) -> Option<Message> {
        let fault = match row {
            Some(row) => self.message_faults.take(row)?,
            None => self.message_faults.take_any()?,
        };
        let mut expected = Expected::default();
        self.count_fault(fault, &mut expected);
        let payload = match fault {
            Fault::NullMessage => None,
            Fault::BareEnvelope => Some(bare(self.doomed())),
            Fault::ConfluentHeader => Some(confluent(&self.doomed())),
            _ => Some(Vec::new()),
        };
        Some(Message { payload, expected })
    }

    /// A message of records, with the faults and oddities that are due by then.
    fn records(&mut self) -> Message {
        let mut expected = Expected::default();
        let mut value = Value::new(self.options.framing);
        match self.message_oddities.take(self.rows) {
            Some(Oddity::EmptyEnvelope) => return self.empty_envelope(),
            Some(oddity) => {
                self.count_oddity(oddity);
                let envelope = self.envelope(&mut expected);
                value.add(&envelope);
            }
            None => {}
        }
        match self.frame_faults.take(self.rows) {
            Some(fault) => self.frame_fault(fault, &mut value, &mut expected),
            None => {
                let envelope = self.envelope(&mut expected);
                value.add(&envelope);
            }
        }
        Message { payload: Some(value.into_bytes()), expected }
    }

    /// A message of what is left of faults and oddities when all rows are written.
    fn rest(&mut self) -> Option<Message> {
        if let Some(message) = self.faulty_message(None) {
            return Some(message);
        }
        let mut expected = Expected::default();
        let mut value = Value::new(self.options.framing);
        if let Some(fault) = self.frame_faults.take_any() {
            self.frame_fault(fault, &mut value, &mut expected);
            return Some(Message { payload: Some(value.into_bytes()), expected });
        }
        if let Some(fault) = self.record_faults.take_any() {
            let mut envelope = Envelope::default();
            self.faulty_record(fault, None, &mut envelope, &mut expected);
            value.add(&envelope);
            return Some(Message { payload: Some(value.into_bytes()), expected });
        }
        // An oddity of records has none left to be of.
        while let Some(oddity) = self.message_oddities.take_any() {
            if oddity == Oddity::EmptyEnvelope {
                return Some(self.empty_envelope());
            }
        }
        None
    }

    fn empty_envelope(&mut self) -> Message {
        self.count_oddity(Oddity::EmptyEnvelope);
        let mut value = Value::new(self.options.framing);
        value.add_empty();
        Message { payload: Some(value.into_bytes()), expected: Expected::default() }
    }

    /// Adds an envelope, if rows are left, and what is wrong around it.
    fn frame_fault(&mut self, fault: Fault, value: &mut Value, expected: &mut Expected) {
        self.count_fault(fault, expected);
        let one_frame = self.options.framing == Framing::Confluent;
        match fault {
            Fault::RecordPastFrame => {
                let mut envelope = self.envelope(expected);
                self.doomed_record();
                envelope.push_past_end(&self.record);
                value.add(&envelope);
                if !one_frame {
                    let next = self.envelope(expected);
                    value.add(&next);
                }
            }
            Fault::EnvelopeField => {
                let mut doomed = self.doomed();
                self.doomed_record();
                doomed.push_foreign(&self.record);
                // A frame that is doomed takes its good records along, so these stand in frames before or after it.
                let (before, after) = (self.random.percent(50), !one_frame);
                if before && after {
                    let envelope = self.envelope(expected);
                    value.add(&envelope);
                }
                value.add(&doomed);
                if !before && after {
                    let envelope = self.envelope(expected);
                    value.add(&envelope);
                }
            }
            _ => {
                let envelope = self.envelope(expected);
                value.add(&envelope);
                match fault {
                    Fault::FramePastMessage => value.add_past_end(&self.doomed()),
                    Fault::ZeroLengthFrame => {
                        value.add_empty();
                        value.add(&self.doomed());
                    }
                    _ => value.add_bytes(&[0xff; 11]),
                }
            }
        }
    }

    /// An envelope of good records, and of faulty ones between them.
    fn envelope(&mut self, expected: &mut Expected) -> Envelope {
        let (from, to) = self.options.envelope.clone().into_inner();
        let size = u64::from(from) + self.random.below(u64::from(to - from) + 1);
        let every = self.options.mixed_every;
        let mixed = every > 0 && self.envelopes.is_multiple_of(every);
        self.envelopes = self.envelopes.wrapping_add(1);

        let mut envelope = Envelope::default();
        let mut host = self.crew.turn();
        for _ in 0..size.min(self.options.rows - self.rows) {
            if mixed {
                host = self.crew.turn();
            }
            while envelope.len() < self.options.envelope_bytes
                && let Some(fault) = self.record_faults.take(self.rows)
            {
                self.faulty_record(fault, Some(host), &mut envelope, expected);
            }
            self.good_record(host, &mut envelope, expected);
            if envelope.len() >= self.options.envelope_bytes {
                break;
            }
        }
        envelope
    }

    fn good_record(&mut self, host: usize, envelope: &mut Envelope, expected: &mut Expected) {
        let oddity = self.record_oddities.take(self.rows);
        let own = self.crew.host(host).writer;
        // Only a record with a version can have it last.
        let versionless = oddity == Some(Oddity::VersionLast) && self.writers[own].epoch == 0;
        let index = if versionless { 0 } else { own };
        self.fill(host, index);
        let writer = &self.writers[index];
        match oddity {
            Some(oddity) => broken::odd(oddity, writer, &mut self.values, &self.slots, &mut self.record),
            None => writer.write(&self.values, &mut self.record),
        }
        expected.row(writer.epoch);
        envelope.push(&self.record);
        self.rows += 1;
        self.layouts[index] += 1;
        if let Some(checksum) = self.totals.checksums.get_mut(&writer.epoch) {
            writer.sum(&self.values, self.values.number(self.slots.inet_diag_msg_socket_cookie), checksum);
        }
        self.totals.record_bytes += self.record.len() as u64;
        self.crew.wrote(host);
        if let Some(oddity) = oddity {
            self.count_oddity(oddity);
        }
    }

    fn faulty_record(&mut self, fault: Fault, host: Option<usize>, envelope: &mut Envelope, expected: &mut Expected) {
        let host = host.unwrap_or_else(|| self.crew.turn());
        let own = self.crew.host(host).writer;
        let index = if can_have(fault, &self.writers[own], &self.slots) {
            own
        } else {
            self.writers.iter().position(|w| can_have(fault, w, &self.slots)).unwrap_or(own)
        };
        self.fill(host, index);
        broken::faulty(fault, &self.writers[index], &mut self.values, &self.slots, self.newest, &mut self.record);
        envelope.push(&self.record);
        self.count_fault(fault, expected);
    }

    /// An envelope of good records that will not land, as what is around them is faulty.
    fn doomed(&mut self) -> Envelope {
        let mut envelope = Envelope::default();
        for _ in 0..=self.random.below(3) {
            self.doomed_record();
            envelope.push(&self.record);
        }
        envelope
    }

    fn doomed_record(&mut self) {
        let host = self.crew.turn();
        let writer = self.crew.host(host).writer;
        self.fill(host, writer);
        self.writers[writer].write(&self.values, &mut self.record);
    }

    /// The values of the next record of a host, for that layout; the record's bytes are taken out.
    fn fill(&mut self, host: usize, writer: usize) {
        let socket = self.crew.socket(host, self.now_ns());
        let (seed, index) = (self.options.seed, host as u64);
        socket::fill(&mut self.values, &self.sockets, &self.slots, seed, index, self.crew.host(host), socket);
        self.values.set(self.slots.schema_version, u64::from(self.writers[writer].epoch));
        self.values.set(self.slots.inet_diag_msg_socket_cookie, self.cookie);
        self.cookie = self.cookie.wrapping_add(1);
        self.record.clear();
    }

    /// The time at which the fleet is with this row: the last is now.
    fn now_ns(&self) -> i64 {
        let span = self.options.span.as_nanos();
        let left = u128::from(self.options.rows - self.rows) * span / u128::from(self.options.rows.max(1));
        self.options.now_ns - i64::try_from(left).unwrap_or(i64::MAX)
    }

    fn count_fault(&mut self, fault: Fault, expected: &mut Expected) {
        expected.divert(fault);
        *self.totals.faults.entry(fault).or_default() += 1;
    }

    fn count_oddity(&mut self, oddity: Oddity) {
        *self.totals.oddities.entry(oddity).or_default() += 1;
    }
}

impl Iterator for Fleet {
    type Item = Message;

    fn next(&mut self) -> Option<Message> {
        let message = match self.faulty_message(Some(self.rows)) {
            Some(message) => message,
            None if self.rows < self.options.rows => self.records(),
            None => self.rest()?,
        };
        self.totals.messages += 1;
        self.totals.bytes += message.payload.as_ref().map_or(0, |p| p.len() as u64);
        self.totals.expected.add(&message.expected);
        Some(message)
    }
}

/// The sums of each epoch's table before the first row, if they are asked for.
fn checksums(options: &Options, registry: &Registry) -> BTreeMap<u32, Checksum> {
    let epochs = registry.epochs().iter().filter(|_| options.checksums);
    epochs.map(|epoch| (epoch.number, Checksum::new(epoch.columns.iter().map(|c| c.name.clone())))).collect()
}

/// Whether a record of this layout can have the fault.
fn can_have(fault: Fault, writer: &Writer, slots: &Slots) -> bool {
    match fault {
        Fault::UnknownEpoch => writer.epoch > 0 && writer.number(slots.schema_version).is_some(),
        Fault::EnumValue => writer.unlabelled().is_some(),
        Fault::TimeOutOfRange => writer.proto(slots.timestamp_ns) == Some(ProtoType::DoubleSeconds),
        _ => true,
    }
}
