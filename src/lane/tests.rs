//! What holds for every record, well-formed or not, against protobuf's own reading of it.

mod oracle;
mod records;

use std::{collections::BTreeMap, sync::Arc};

use proptest::prelude::*;

use super::*;
use crate::{
    config::Framing,
    epoch::{Registry, load},
    inspect::{self, Report},
    wire::{Piece, Pieces},
};
use oracle::Oracle;
use records::{Recipe, envelope, recipe};

fn registry() -> &'static Registry {
    static REGISTRY: std::sync::LazyLock<Registry> =
        std::sync::LazyLock::new(|| load::embedded().expect("definitions"));
    &REGISTRY
}

fn schema() -> &'static Arc<Schema> {
    static SCHEMA: std::sync::LazyLock<Arc<Schema>> =
        std::sync::LazyLock::new(|| Schema::new(registry(), "errors", Framing::Delimited));
    &SCHEMA
}

/// What a message becomes, for one way of decoding.
fn close(message: &[u8], prepare: impl FnOnce(&mut Decoder)) -> Option<Batch> {
    close_as(schema(), message, prepare)
}

fn close_as(schema: &Arc<Schema>, message: &[u8], prepare: impl FnOnce(&mut Decoder)) -> Option<Batch> {
    let mut decoder = Decoder::new(Arc::clone(schema));
    prepare(&mut decoder);
    let mut lane = Lane::new(Arc::clone(schema), Arc::from("xtcp"), 3);
    lane.fill(&mut decoder).push(Message { offset: 7, time_ms: Some(1), payload: Some(message) });
    lane.close()
}

fn placed_and_diverted(batch: &Batch) -> (u64, u64) {
    (batch.counts.placed.values().sum(), batch.counts.diverted.values().sum())
}

fn bodies(batch: &Batch) -> Vec<(&str, u64, &[u8])> {
    batch.blocks.iter().map(|block| (block.target.table.as_str(), block.rows, &block.body[..])).collect()
}

/// Recipes of records, and what is done to the finished message: `(position, byte)` overwrites, and where it is cut.
fn messages() -> impl Strategy<Value = (Vec<Recipe>, Vec<(usize, u8)>, Option<usize>)> {
    let damage = prop_oneof![
        3 => Just((Vec::new(), None)),
        2 => prop::collection::vec((any::<usize>(), any::<u8>()), 1..4).prop_map(|bytes| (bytes, None)),
        1 => any::<usize>().prop_map(|cut| (Vec::new(), Some(cut))),
    ];
    (prop::collection::vec(recipe(), 1..6), damage).prop_map(|(recipes, (bytes, cut))| (recipes, bytes, cut))
}

fn build(recipes: &[Recipe], bytes: &[(usize, u8)], cut: Option<usize>) -> Vec<u8> {
    let mut message = envelope(recipes.iter().map(|recipe| recipe.encode(registry())));
    for (position, byte) in bytes {
        let position = position % message.len();
        message[position] = *byte;
    }
    if let Some(cut) = cut {
        message.truncate(cut % message.len() + 1);
    }
    message
}

/// As many as it takes to meet most kinds of damage, or what `PROPTEST_CASES` says: under Valgrind each takes long.
fn cases() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: if std::env::var_os("PROPTEST_CASES").is_some() { usual.cases } else { 1500 }, ..usual }
}

proptest! {
    #![proptest_config(cases())]

    /// Each record of each layout holds the values that protobuf reads from the same bytes, or is diverted where protobuf
    /// refuses it too, or where the column has no label for an enum.
    #[test]
    fn values_are_what_protobuf_reads(recipe in recipe(), damage in prop::option::weighted(0.4, (any::<usize>(), any::<u8>()))) {
        let mut record = recipe.encode(registry());
        if let (Some((position, byte)), false) = (damage, record.is_empty()) {
            let position = position % record.len();
            record[position] = byte;
        }
        let report = inspect::inspect(schema(), &envelope([record.clone()]));
        let expected = Oracle::shared().read(registry(), &record);
        match (outcome(&report), expected) {
            (Err(reason), Err(reasons)) => prop_assert!(reasons.contains(&&*reason), "{reason}, not {reasons:?}, of {record:02x?}"),
            (ours, expected) => prop_assert_eq!(ours.map_err(|reason| vec![reason]), expected.map_err(|_| vec![]), "of {:02x?}", record),
        }
    }

    /// The newest epoch, by the types that prost builds from the .proto: what it reads and writes again is the same row.
    #[test]
    fn prost_reads_the_same(recipe in recipe()) {
        use prost::Message as _;
        let record = recipe.encode(registry());
        let Ok(read) = crate::proto::XtcpFlatRecord::decode(&record[..]) else { return Ok(()) };
        if read.schema_version != registry().newest().number {
            return Ok(());
        }
        let ours = inspect::inspect(schema(), &envelope([record]));
        let again = inspect::inspect(schema(), &envelope([read.encode_to_vec()]));
        prop_assert_eq!(ours.rows, again.rows);
    }

    /// Nothing is lost: every record and every piece that can't be cut is placed or diverted, whatever the bytes.
    #[test]
    fn placed_and_diverted_is_all_there_is((recipes, bytes, cut) in messages()) {
        let message = build(&recipes, &bytes, cut);
        let pieces = Pieces::delimited(&message).count() as u64;
        let (placed, diverted) = close(&message, |_| ()).as_ref().map(placed_and_diverted).expect("a batch");
        prop_assert_eq!(placed + diverted, pieces);
        // What is diverted is there whole.
        let report = inspect::inspect(schema(), &message);
        prop_assert_eq!(report.errors.len() as u64, diverted);
        for error in &report.errors {
            let start = usize::try_from(error.byte_offset).expect("an offset");
            prop_assert_eq!(&message[start..start + error.raw.len()], &error.raw[..]);
        }
        if bytes.is_empty() && cut.is_none() {
            let records = Pieces::delimited(&message).filter(|piece| matches!(piece, Piece::Record { .. })).count();
            prop_assert_eq!(records, recipes.len());
        }
    }

    /// Every way of decoding makes the same block, byte for byte: with the bit-extract instruction and without, trusting the
    /// guess of the layout or reading each record with care first, expecting the worst, knowing nothing or expecting what other records were like.
    #[test]
    fn all_ways_of_decoding_agree((recipes, bytes, cut) in messages()) {
        let message = build(&recipes, &bytes, cut);
        let usual = close(&message, |_| ());
        let portable = close(&message, |decoder| decoder.pext = false);
        let careful = close(&message, |decoder| decoder.careful = true);
        let warned = close(&message, |decoder| decoder.diverted = u32::MAX / 2);
        let undamaged = build(&recipes, &[], None);
        let expecting = |pext: bool| close(&message, |decoder| {
            decoder.pext &= pext;
            let mut elsewhere = Lane::new(Arc::clone(schema()), Arc::from("xtcp"), 4);
            let mut filling = elsewhere.fill(decoder);
            (0..3).for_each(|offset| filling.push(Message { offset, time_ms: Some(1), payload: Some(&undamaged) }));
        });
        for other in [portable, careful, warned, expecting(true), expecting(false)] {
            prop_assert_eq!(usual.as_ref().map(bodies), other.as_ref().map(bodies));
            prop_assert_eq!(usual.as_ref().map(|b| &b.counts), other.as_ref().map(|b| &b.counts));
        }
    }

    /// Blocks depend on the messages alone, not on how they were handed in.
    #[test]
    fn batches_do_not_depend_on_polls(recipes in prop::collection::vec(recipe(), 1..40), cuts in prop::collection::vec(any::<bool>(), 40)) {
        let messages: Vec<_> = recipes.iter().map(|recipe| envelope([recipe.encode(registry())])).collect();
        let message = |i: usize| Message { offset: i as i64, time_ms: None, payload: Some(&messages[i]) };
        let mut decoder = Decoder::new(Arc::clone(schema()));
        let mut at_once = Lane::new(Arc::clone(schema()), Arc::from("xtcp"), 0);
        let mut filling = at_once.fill(&mut decoder);
        (0..messages.len()).for_each(|i| filling.push(message(i)));
        drop(filling);
        let at_once = at_once.close();

        let mut in_pieces = Lane::new(Arc::clone(schema()), Arc::from("xtcp"), 0);
        let mut elsewhere = Lane::new(Arc::clone(schema()), Arc::from("xtcp"), 1);
        let mut other_decoder = Decoder::new(Arc::clone(schema()));
        for (i, cut) in (0..messages.len()).zip(cuts) {
            in_pieces.fill(&mut other_decoder).push(message(i));
            if cut {
                elsewhere.fill(&mut other_decoder).push(message(messages.len() - 1 - i));
            }
        }
        let in_pieces = in_pieces.close();
        prop_assert_eq!(at_once.as_ref().map(bodies), in_pieces.as_ref().map(bodies));
        prop_assert_eq!(at_once.map(|b| (b.first, b.next, b.counts)), in_pieces.map(|b| (b.first, b.next, b.counts)));
    }

    /// Sealed in sections, a batch is what its sections would be alone, one behind the other, and counts what it would count.
    #[test]
    fn sections_lose_nothing(recipes in prop::collection::vec(recipe(), 1..20), cut in 0..20_usize) {
        let messages: Vec<_> = recipes.iter().map(|recipe| envelope([recipe.encode(registry())])).collect();
        let cut = cut.min(messages.len());
        let mut decoder = Decoder::new(Arc::clone(schema()));
        let mut fill = |lane: &mut Lane, range: std::ops::Range<usize>| {
            let mut filling = lane.fill(&mut decoder);
            range.for_each(|i| filling.push(Message { offset: i as i64, time_ms: None, payload: Some(&messages[i]) }));
        };
        let mut in_sections = Lane::new(Arc::clone(schema()), Arc::from("xtcp"), 0);
        let mut alone = Lane::new(Arc::clone(schema()), Arc::from("xtcp"), 0);
        let mut expected: BTreeMap<String, (u64, Vec<u8>)> = BTreeMap::new();
        for range in [0..cut, cut..messages.len()] {
            fill(&mut in_sections, range.clone());
            in_sections.seal_sections_with(1, crate::block::seal);
            fill(&mut alone, range);
            for block in alone.close().into_iter().flat_map(|batch| batch.blocks) {
                let (rows, body) = expected.entry(block.target.table.clone()).or_default();
                *rows += block.rows;
                body.extend_from_slice(&block.body);
            }
        }
        let mut whole = Lane::new(Arc::clone(schema()), Arc::from("xtcp"), 0);
        fill(&mut whole, 0..messages.len());
        prop_assert_eq!(in_sections.rows(), whole.rows());
        let (in_sections, whole) = (in_sections.close().expect("a batch"), whole.close().expect("a batch"));
        let mut found = bodies(&in_sections);
        found.sort_unstable();
        let expected: Vec<_> = expected.iter().map(|(table, (rows, body))| (table.as_str(), *rows, &body[..])).collect();
        prop_assert_eq!(found, expected);
        prop_assert_eq!((in_sections.first, in_sections.next), (whole.first, whole.next));
        prop_assert_eq!(in_sections.counts, whole.counts);
    }

    #[test]
    fn any_bytes_are_survived(message in prop::collection::vec(any::<u8>(), 0..400)) {
        let batch = close(&message, |_| ()).expect("a batch");
        let (placed, diverted) = placed_and_diverted(&batch);
        let expected = if message.is_empty() { 1 } else { Pieces::delimited(&message).count() as u64 };
        prop_assert_eq!(placed + diverted, expected);
    }
}

/// The row of a report of one record, or the reason why there is none.
fn outcome(report: &Report) -> Result<(String, Vec<(String, inspect::Value)>), String> {
    match (&report.rows[..], &report.errors[..]) {
        ([row], []) => Ok((row.table.clone(), row.values.clone())),
        ([], [error]) => Err(error.reason.clone()),
        other => panic!("one record became {other:?}"),
    }
}

#[test]
fn unknown_fields_are_counted_however_many_there_are() {
    for numbers in [1..=64u32, 1..=65, 1..=300] {
        let numbers = numbers.map(|n| 3000 + n).collect::<Vec<_>>();
        let record = |unknown: &[u32]| {
            let mut record = Vec::new();
            prost::encoding::uint32::encode(1, &registry().newest().number, &mut record);
            unknown.iter().for_each(|number| prost::encoding::uint32::encode(*number, &1, &mut record));
            record
        };
        // All in one record, and one in each of many.
        for message in [envelope([record(&numbers)]), envelope(numbers.iter().map(|number| record(&[*number])))] {
            let batch = close(&message, |_| {}).expect("rows");
            assert_eq!(placed_and_diverted(&batch).1, 0);
            let counted = &batch.counts.unknown_fields;
            assert_eq!(counted.values().sum::<u64>(), numbers.len() as u64);
            let told_apart = counted.keys().filter(|(_, number)| *number > 0).count();
            assert_eq!(told_apart, numbers.len().min(64), "{} numbers", numbers.len());
        }
    }
}

/// Whole messages in the error table are sealed by their bytes, far fewer as they are than the rows of a section.
#[test]
fn large_rows_are_sealed_long_before_a_section_is_full_of_them() {
    let garbage = vec![0xff; 64 << 10];
    let mut decoder = Decoder::new(Arc::clone(schema()));
    let mut lane = Lane::new(Arc::clone(schema()), Arc::from("xtcp"), 0);
    let errors = schema().targets().len() - 1;
    for offset in 0..300 {
        lane.fill(&mut decoder).push(Message { offset, time_ms: None, payload: Some(&garbage) });
        lane.seal_sections();
        let open = lane.open(errors).map_or(0, |columns| columns.bytes(schema().shape(errors)));
        assert!(open < lane::SECTION_BYTES, "{open} bytes are open at offset {offset}");
    }
    assert!(lane.reserved() < garbage.len() * 300 / 2, "{} bytes are reserved", lane.reserved());
    assert_eq!(lane.rows(), 300);
    assert_eq!(placed_and_diverted(&lane.close().expect("a batch")), (0, 300));
}

/// Keys of one to five bytes, and every byte of a record altered in every way: the hot path takes what the careful one takes.
#[test]
fn keys_of_every_length_are_read_with_the_same_outcome_by_all_ways() {
    const NUMBERS: [u32; 6] = [2, 10, 1000, 200_000, 40_000_000, (1 << 29) - 1];
    let columns: String = NUMBERS
        .iter()
        .map(|number| format!("  - {{ name: c{number}, type: UInt64, codec: LZ4, wire: {{ e7: uint64 {number} }} }}\n"))
        .collect();
    let text = format!(
        "epoch: 7\ntable: {{ name: t, engine: MergeTree, order_by: [c2] }}\nlayouts:\n  - {{ name: e7 }}\ncolumns:\n  \
         - {{ name: schema_version, type: UInt32, codec: LZ4, wire: {{ e7: uint32 1 }} }}\n{columns}"
    );
    let file = crate::tree::File { name: "v7.yaml".into(), text };
    let registry = load::load([&file]).unwrap_or_else(|refused| panic!("{refused}"));
    let schema = Schema::new(&registry, "errors", Framing::Delimited);
    let mut record = Vec::new();
    prost::encoding::uint32::encode(1, &7, &mut record);
    NUMBERS.iter().for_each(|number| prost::encoding::uint64::encode(*number, &300, &mut record));
    let behind = vec![0; 40];
    let mut placed = 0;
    for (at, byte) in (0..record.len()).flat_map(|at| (0..=u8::MAX).map(move |byte| (at, byte))) {
        let mut altered = record.clone();
        altered[at] = byte;
        // What is behind it is read as far as loads reach beyond its end.
        let message = envelope([altered, behind.clone()]);
        let usual = close_as(&schema, &message, |_| ()).expect("a batch");
        let careful = close_as(&schema, &message, |decoder| decoder.careful = true).expect("a batch");
        assert_eq!(bodies(&usual), bodies(&careful), "byte {at} as {byte}");
        placed += placed_and_diverted(&usual).0;
    }
    assert!(placed > 1000, "{placed} records were placed at all");
}
