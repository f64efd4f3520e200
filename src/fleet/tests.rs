//! The fleet against its promises.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
    sync::Arc,
    time::Duration,
};

use prost::Message as _;
use reading::{Record, e2, fields, frames};

use super::*;
use crate::{
    config::Framing,
    epoch::{Registry, load},
    inspect::{Report, Value, inspect},
    lane::Schema,
    proto::XtcpFlatRecord,
};

mod reading;

fn registry() -> Registry {
    load::embedded().expect("good definitions")
}

fn schema(framing: Framing) -> Arc<Schema> {
    Schema::new(&registry(), "xtcp_flat_records_errors", framing)
}

fn fleet(options: Options) -> Fleet {
    Fleet::new(options, &registry()).expect("good options")
}

fn one(layout: &str) -> Mix {
    Mix::Shares(vec![(layout.to_owned(), 1.0)])
}

fn payloads(options: Options) -> Vec<Option<Vec<u8>>> {
    fleet(options).map(|message| message.payload).collect()
}

/// All records of a fleet without faults.
fn records(options: Options) -> Vec<Vec<u8>> {
    payloads(options).into_iter().flat_map(|payload| frames(&payload.expect("a value")).concat()).collect()
}

/// Bytes and set fields of a record on average.
#[allow(clippy::cast_precision_loss)]
fn averages(mix: Mix) -> (f64, f64) {
    let records = records(Options { rows: 5000, mix, ..Options::default() });
    let (count, bytes) = (records.len() as f64, records.iter().map(Vec::len).sum::<usize>() as f64);
    (bytes / count, records.iter().map(|r| fields(r).len()).sum::<usize>() as f64 / count)
}

#[test]
fn records_are_as_large_as_real_ones() {
    for mix in [one("e2"), Mix::Default] {
        let (bytes, set) = averages(mix);
        assert!((bytes / 893.0 - 1.0).abs() < 0.04, "{bytes} bytes a record");
        assert!((set / 97.0 - 1.0).abs() < 0.03, "{set} fields a record");
    }
}

#[test]
fn the_same_options_give_the_same_bytes() {
    let options = || {
        let carrier = Carrier::Message(Framing::Delimited);
        let faults = options::faults("all=2", 0, carrier).expect("known names");
        let oddities = options::oddities("all=2", 0, carrier).expect("known names");
        Options { rows: 1000, faults, oddities, ..Options::default() }
    };
    let first = payloads(options());
    assert!(first == payloads(options()));
    assert!(first != payloads(Options { seed: 2, ..options() }));
    assert!(first != payloads(Options { now_ns: 1_790_000_000_000_000_001, ..options() }));
}

#[test]
#[allow(clippy::cast_precision_loss)]
fn every_row_is_there_once_and_layouts_have_their_shares() {
    let mut fleet = fleet(Options { rows: 10_000, first_cookie: 5, ..Options::default() });
    let registry = registry();
    let cookie = registry.newest().column("inet_diag_msg_socket_cookie").expect("a column");
    let number =
        u64::from(registry.newest().layouts[0].fields.iter().find(|f| f.column == cookie).expect("a field").number);
    let mut cookies = BTreeSet::new();
    for message in fleet.by_ref() {
        let payload = message.payload.expect("a value");
        let records = frames(&payload).concat();
        assert_eq!(records.len() as u64, message.expected.row_count());
        for record in records {
            // The older layouts have the kernel's fields 900 further down.
            let of = |n| fields(&record).into_iter().find(|(f, wire, _)| *f == n && *wire == 0).map(|(.., v)| v);
            let value = of(number).or_else(|| of(number - 900)).expect("every record has a cookie");
            cookies.insert(reading::varint(&mut value.as_slice()));
        }
    }
    assert_eq!(cookies, (5..10_005).collect());
    let totals = fleet.totals();
    assert_eq!(totals.expected.row_count(), 10_000);
    assert!(totals.expected.diverted.is_empty());
    let layouts = || registry.epochs().iter().rev().flat_map(|epoch| epoch.layouts.iter().rev());
    let whole: f64 = layouts().zip(crew::usual_shares()).map(|(_, share)| share).sum();
    for (layout, share) in layouts().zip(crew::usual_shares()) {
        let records = totals.layouts[&layout.name];
        // A whole envelope more or less.
        assert!((records as f64 - share / whole * 10_000.0).abs() <= 800.0, "{}: {records}", layout.name);
    }
}

#[test]
fn prost_reads_the_newest_layout() {
    let registry = registry();
    let newest = registry.newest();
    let layout = newest.layouts.last().expect("an epoch has a layout");
    for record in records(Options { rows: 300, mix: one(&layout.name), ..Options::default() }) {
        let read = XtcpFlatRecord::decode(record.as_slice()).expect("prost reads it");
        assert_eq!(read.schema_version, newest.number);
        assert!(read.encode_to_vec() == record, "{read:?}");
    }
}

#[test]
fn values_are_as_those_of_daemons() {
    let now_ns = 1_790_000_000_000_000_000;
    let span = Duration::from_secs(100);
    let mut polls: BTreeMap<(Vec<u8>, u64), BTreeSet<i64>> = BTreeMap::new();
    let (mut packets, mut followed) = (BTreeMap::<Vec<u8>, (u64, u64)>::new(), 0);
    let records =
        records(Options { rows: 3000, mix: one("e2"), hosts: 3, sockets: 400, now_ns, span, ..Options::default() });
    for record in records {
        let record = Record::of(&record);
        assert_eq!((record.number(e2::SCHEMA_VERSION), record.number(e2::FAMILY)), (2, 2));
        assert_eq!((record.bytes(e2::SOURCE).len(), record.bytes(e2::DESTINATION).len()), (16, 16));
        assert!(record.number(e2::RECORD_COUNTER) < 71);
        let at = i64::try_from(record.number(e2::TIMESTAMP_NS)).expect("after 1970");
        assert!(at <= now_ns && at > now_ns - 102_000_000_000, "{at}");
        let state = record.number(e2::TCP_INFO_STATE);
        assert!(state == 0 || state == record.number(e2::STATE), "{state}");
        assert!(record.number(e2::BYTES_ACKED) <= record.number(e2::BYTES_SENT) + 1);
        assert!(record.number(e2::MIN_RTT) <= record.number(e2::RTT).max(1));
        let namespace = (record.bytes(e2::HOSTNAME).to_vec(), record.number(e2::NETNS_INODE));
        // The kernel answers for one namespace in a packet.
        let counter = record.number(e2::RECORD_COUNTER);
        let (before, same) = packets.insert(namespace.0.clone(), (counter, namespace.1)).unwrap_or_default();
        assert!(counter == 0 || before + 1 != counter || same == namespace.1);
        followed += u32::from(counter > 0 && before + 1 == counter);
        polls.entry(namespace).or_default().insert(at);
    }
    assert!(followed > 2500, "{followed} of 3000 follow another in their packet");
    let most = polls.values().map(BTreeSet::len).max().expect("there are polls");
    assert!((2..=4).contains(&most), "3000 records of 3 × 400 sockets are a few polls of each namespace: {most}");
}

#[test]
fn sockets_stay_from_poll_to_poll() {
    let options = Options { rows: 300, hosts: 1, sockets: 100, mix: one("e2"), ..Options::default() };
    let mut seen: BTreeMap<(Vec<u8>, u64), Vec<Record>> = BTreeMap::new();
    for record in records(options) {
        let record = Record::of(&record);
        let socket = (record.bytes(e2::DESTINATION).to_vec(), record.number(e2::INODE));
        seen.entry(socket).or_default().push(record);
    }
    let established = |record: &Record| record.number(e2::STATE) == 1;
    let polled: Vec<_> = seen.values().filter(|r| r.len() == 3 && established(&r[0])).collect();
    assert!(polled.len() > 50, "{} of 100 sockets were seen in each of 3 polls", polled.len());
    for records in polled {
        for pair in records.windows(2) {
            assert_eq!(pair[0].bytes(e2::CONTAINER_ID), pair[1].bytes(e2::CONTAINER_ID));
            assert!(pair[0].number(e2::TIMESTAMP_NS) < pair[1].number(e2::TIMESTAMP_NS));
            assert!(pair[0].number(e2::BYTES_SENT) <= pair[1].number(e2::BYTES_SENT), "a counter went down");
        }
    }
}

fn counted<K: Ord>(keys: impl Iterator<Item = K>) -> BTreeMap<K, u64> {
    let mut counts = BTreeMap::new();
    for key in keys {
        *counts.entry(key).or_default() += 1;
    }
    counts
}

/// Sends a fleet through the decoder, message by message, and compares what comes out with what was promised.
fn compare(options: Options) -> (Totals, Vec<Report>) {
    let schema = schema(options.framing);
    let mut fleet = fleet(options);
    let tables: BTreeMap<u32, String> = fleet.tables().map(|(epoch, table)| (epoch, table.to_owned())).collect();
    let mut reports = Vec::new();
    for message in fleet.by_ref() {
        let report = inspect(&schema, message.payload.as_deref().unwrap_or_default());
        let expected: BTreeMap<_, _> =
            message.expected.rows.iter().map(|(epoch, rows)| (tables[epoch].as_str(), *rows)).collect();
        let errors: Vec<_> = report.errors.iter().map(|e| (&e.reason, &e.error)).collect();
        assert_eq!(counted(report.rows.iter().map(|r| r.table.as_str())), expected, "{errors:?}");
        let expected: BTreeMap<_, _> = message.expected.diverted.iter().map(|(r, n)| (r.code(), *n)).collect();
        assert_eq!(counted(report.errors.iter().map(|e| e.reason.as_str())), expected, "{errors:?}");
        reports.push(report);
    }
    (fleet.totals(), reports)
}

fn mishaps(count: u64, framing: Framing) -> Options {
    let (list, carrier) = (format!("all={count}"), Carrier::Message(framing));
    Options {
        faults: options::faults(&list, 0, carrier).expect("known names"),
        oddities: options::oddities(&list, 0, carrier).expect("known names"),
        framing,
        envelope: 1..=40,
        ..Options::default()
    }
}

#[test]
fn what_is_promised_is_what_the_decoder_finds() {
    for seed in 0..2 {
        let (totals, reports) = compare(Options { seed, rows: 1500, ..mishaps(9, Framing::Delimited) });
        assert_eq!(totals.expected.row_count(), 1500);
        for fault in Fault::all() {
            assert_eq!(totals.faults[&fault], 9, "{}", fault.name());
        }
        for oddity in Oddity::all() {
            assert_eq!(totals.oddities[&oddity], 9, "{}", oddity.name());
        }
        let layouts = counted(reports.iter().flat_map(|r| &r.rows).map(|row| row.layout.clone()));
        assert_eq!(layouts, totals.layouts, "each record is read by the layout that it was written by");
        let unknown: u64 = reports.iter().flat_map(|r| &r.unknown_fields).map(|(.., count)| count).sum();
        assert_eq!(unknown, 9 * 5, "five unknown fields in each record that has any");
        let not_utf8: u64 = reports.iter().flat_map(|r| &r.not_utf8).map(|(_, count)| count).sum();
        assert_eq!(not_utf8, 9);
    }
}

#[test]
fn oddities_change_no_other_value() {
    let options = |oddities: &str| {
        let oddities = options::oddities(oddities, 0, Carrier::File).expect("known names");
        // Hosts of epoch 1 and 2 alone: a record that has its version last is then of its own host's layout.
        let mix = options::mix("e2=1,e1=1").expect("shares");
        Options { rows: 200, oddities, mix, ..Options::default() }
    };
    let rows = |options: Options| compare(options).1.into_iter().flat_map(|r| r.rows).collect::<Vec<_>>();
    let plain = rows(options(""));
    for (oddity, changed) in [
        ("unknown_fields=20", None),
        ("duplicate_fields=20", None),
        ("padded_varints=20", None),
        ("wide_varint=20", None),
        ("version_last=20", None),
        ("not_utf8=20", Some("hostname")),
        ("short_address=20", Some("inet_diag_msg_socket_source")),
    ] {
        let odd = rows(options(oddity));
        assert_eq!(plain.len(), odd.len());
        let differing: BTreeMap<&str, Vec<&Value>> =
            plain.iter().zip(&odd).flat_map(|(a, b)| a.values.iter().zip(&b.values)).filter(|(a, b)| a != b).fold(
                BTreeMap::new(),
                |mut all, (a, b)| {
                    all.entry(a.0.as_str()).or_insert_with(Vec::new).push(&b.1);
                    all
                },
            );
        let columns: Vec<_> = differing.keys().copied().collect();
        assert_eq!(columns, changed.into_iter().collect::<Vec<_>>(), "{oddity}");
    }
}

#[test]
fn faults_come_in_full_even_without_rows_to_be_among() {
    for rows in [0, 1, 7] {
        let (totals, _) = compare(Options { rows, ..mishaps(5, Framing::Delimited) });
        assert_eq!(totals.expected.row_count(), rows);
        assert!(Fault::all().all(|fault| totals.faults[&fault] == 5), "{rows} rows: {:?}", totals.faults);
    }
}

#[test]
fn a_confluent_message_is_one_envelope_behind_its_header() {
    let (totals, _) = compare(Options { rows: 500, ..mishaps(5, Framing::Confluent) });
    assert_eq!(totals.expected.row_count(), 500);
    assert_eq!(totals.faults[&Fault::EnvelopeField], 5);
    assert!(!totals.faults.contains_key(&Fault::BareEnvelope));
    let refused = Options {
        faults: BTreeMap::from([(Fault::TrailingGarbage, 1)]),
        framing: Framing::Confluent,
        ..Options::default()
    };
    assert!(matches!(Fleet::new(refused, &registry()), Err(OptionError::Unfit { name: "trailing_garbage", .. })));
}

#[test]
fn frames_back_to_back_are_what_the_messages_were() {
    let options = || {
        let faults = options::faults("all=3", 0, Carrier::File).expect("known names");
        let oddities = options::oddities("all=3", 0, Carrier::File).expect("known names");
        Options { rows: 500, faults, oddities, ..Options::default() }
    };
    let totals = compare(options()).0;
    let file: Vec<u8> = payloads(options()).into_iter().flatten().flatten().collect();
    let report = inspect(&schema(Framing::Delimited), &file);
    assert_eq!(report.rows.len(), 500);
    let expected: BTreeMap<_, _> = totals.expected.diverted.iter().map(|(r, n)| (r.code(), *n)).collect();
    assert_eq!(counted(report.errors.iter().map(|e| e.reason.as_str())), expected);
}

#[test]
fn envelopes_keep_to_their_bounds() {
    let sizes = |envelope: RangeInclusive<u32>, envelope_bytes| {
        let options = Options { rows: 2000, envelope, envelope_bytes, ..Options::default() };
        payloads(options).into_iter().flatten().map(|p| (frames(&p).concat().len(), p.len())).collect::<Vec<_>>()
    };
    let rows = sizes(10..=20, 1 << 30);
    assert!(rows[..rows.len() - 1].iter().all(|(records, _)| (10..=20).contains(records)), "{rows:?}");
    let bytes = sizes(1..=10_000, 50_000);
    assert!(bytes.iter().all(|(_, bytes)| *bytes < 52_500), "{bytes:?}");
    assert!(bytes.len() >= 30, "{bytes:?}");
    assert_eq!(sizes(1..=1, 1 << 30).len(), 2000);
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let refused = |options: Options| Fleet::new(options, &registry()).expect_err("a contradiction").to_string();
    let layouts: usize = registry().epochs().iter().map(|epoch| epoch.layouts.len()).sum();
    assert_eq!(
        refused(Options { hosts: 4, ..Options::default() }),
        format!("4 hosts can't have {layouts} layouts; a host has one")
    );
    let said = refused(Options { mix: one("nothing"), ..Options::default() });
    assert!(said.starts_with("there is no layout `nothing`; known are "), "{said}");
    assert!(
        said.ends_with("`2/e2`, `1/e1`, `0/renumbered`, `0/legacy`, `0/legacy_seconds`"),
        "the newest first: {said}"
    );
    assert!(refused(Options { envelope: 0..=1, ..Options::default() }).starts_with("an envelope can't hold 0 to 1"));
}

#[test]
fn each_layout_can_be_all_there_is() {
    for layout in ["e2", "e1", "renumbered", "legacy", "legacy_seconds", "1/e1"] {
        let (totals, _) = compare(Options { rows: 300, hosts: 1, mix: one(layout), ..mishaps(2, Framing::Delimited) });
        assert_eq!(totals.expected.row_count(), 300, "{layout}");
    }
}
