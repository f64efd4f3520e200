//! Every class of difference by an example, and the page's table made from the examples.

use std::{collections::BTreeSet, fmt::Write as _, fs};

use super::{
    Class, Difference, ProtoError, ProtoFile, Rules, Shape, Source, declared, differences, parse_renames, verdict,
};
use crate::generated::assert_current;

/// A record with a bit of everything.
const BASE: &str = "\
syntax = \"proto3\";

package xtcp_flat_record.v1;

message Envelope {
  repeated XtcpFlatRecord row = 10;
}

enum Locality {
  LOCALITY_UNSPECIFIED = 0;
  LOCALITY_SELF = 1;
  LOCALITY_REMOTE = 2;
}

message XtcpFlatRecord {
  reserved 301;
  reserved \"c_group\";

  uint32 schema_version = 1;
  string hostname = 20;
  bytes address = 30;
  Locality locality = 310;

  uint32 tcp_info_rto = 1215; // tcp_info.tcpi_rto, µs
  uint64 tcp_info_bytes = 1241; // tcp_info.tcpi_bytes_acked
  int32 tcp_info_skew = 1242; // tcp_info.tcpi_skew
}
";

/// What is edited, what is confirmed, and what that is.
struct Example {
    class: Class,
    edits: &'static [(&'static str, &'static str)],
    confirmed: &'static [&'static str],
    /// The line of the new file at which it is reported.
    line: u32,
}

const fn example(class: Class, edits: &'static [(&'static str, &'static str)], line: u32) -> Example {
    Example { class, edits, confirmed: &[], line }
}

const EXAMPLES: &[Example] = &[
    example(
        Class::Added,
        &[(
            "1241; // tcp_info.tcpi_bytes_acked\n",
            "1241; // tcp_info.tcpi_bytes_acked\n  uint32 tcp_info_new = 1277; // tcp_info.tcpi_new\n",
        )],
        26,
    ),
    example(Class::LabelAdded, &[("REMOTE = 2;", "REMOTE = 2;\n  LOCALITY_LOCAL = 3;")], 23),
    example(Class::Renamed, &[("tcp_info_rto =", "tcp_info_rto_us =")], 24),
    example(Class::Renumbered, &[("hostname = 20", "hostname = 22")], 20),
    Example { class: Class::Moved, edits: &[("hostname = 20", "host = 22")], confirmed: &["hostname=host"], line: 20 },
    example(Class::Removed, &[("  string hostname = 20;\n", "")], 15),
    example(Class::Widened, &[("uint32 tcp_info_rto", "uint64 tcp_info_rto")], 24),
    example(Class::Narrowed, &[("uint64 tcp_info_bytes", "uint32 tcp_info_bytes")], 25),
    example(Class::Reinterpreted, &[("int32 tcp_info_skew", "sint32 tcp_info_skew")], 26),
    example(Class::Reinterpreted, &[("bytes address", "string address")], 21),
    example(Class::Retyped, &[("int32 tcp_info_skew", "double tcp_info_skew")], 26),
    example(Class::LabelRenamed, &[("LOCALITY_REMOTE", "LOCALITY_FAR")], 22),
    example(Class::NumberReused, &[("string hostname = 20", "uint64 boot_id = 20")], 20),
    example(Class::NumberReused, &[("  reserved 301;\n", ""), ("= 310;", "= 310;\n  uint32 egress = 301;")], 22),
    example(Class::NameReused, &[("  reserved \"c_group\";\n", ""), ("= 310;", "= 310;\n  uint32 c_group = 400;")], 22),
    example(Class::Repeated, &[("string hostname", "repeated string hostname")], 20),
    example(Class::LabelRemoved, &[("  LOCALITY_REMOTE = 2;\n", "")], 21),
    example(Class::LabelMoved, &[("REMOTE = 2", "REMOTE = 3")], 22),
    example(Class::RouteChanged, &[("uint32 schema_version", "uint64 schema_version")], 19),
    example(Class::SourceMissing, &[(" // tcp_info.tcpi_rto, µs", "")], 24),
    example(Class::EnvelopeChanged, &[("row = 10;", "row = 10;\n  string daemon = 11;")], 5),
    example(Class::ReservedMissing, &[("  reserved 301;\n", "")], 15),
    example(Class::PresenceChanged, &[("string hostname", "optional string hostname")], 20),
];

fn edited(edits: &[(&str, &str)]) -> String {
    edits.iter().fold(BASE.to_owned(), |text, (from, to)| {
        assert_eq!(text.matches(from).count(), 1, "{from}");
        text.replace(from, to)
    })
}

fn read(text: &str) -> Result<ProtoFile, ProtoError> {
    let directory = tempfile::tempdir().expect("a folder");
    let path = directory.path().join("new.proto");
    fs::write(&path, text).expect("written");
    ProtoFile::read(&Source { path, includes: Vec::new(), message: declared::MESSAGE.to_owned() })
}

fn shape(text: &str) -> Shape {
    read(text).unwrap_or_else(|error| panic!("{error}")).shape
}

fn found(old: &Shape, new: &Shape, confirmed: &[&str]) -> Vec<Difference> {
    let renames = parse_renames(confirmed.iter().copied()).expect("renames");
    differences(old, new, &Rules { renames, is_fleet_record: true }).expect("renames that are there")
}

fn of(example: &Example) -> Vec<Difference> {
    found(&shape(BASE), &shape(&edited(example.edits)), example.confirmed)
}

#[test]
fn every_class_is_told_by_its_example_with_reason_and_line() {
    for example in EXAMPLES {
        let all = of(example);
        let this = all.iter().find(|difference| difference.class == example.class);
        let this = this.unwrap_or_else(|| panic!("{:?}: {all:#?}", example.class));
        assert_eq!(this.spot.map(|spot| spot.line), Some(example.line), "{:?}: {this:?}", example.class);
        // What comes with it is a note, what left, or about the same field.
        for other in all.iter().filter(|difference| difference.class != example.class) {
            let may = [Class::ReservedMissing, Class::Removed].contains(&other.class);
            assert!(may || other.subject == this.subject, "{:?} brings {other:?}", example.class);
        }
    }
    let shown: BTreeSet<Class> = EXAMPLES.iter().map(|example| example.class).collect();
    assert_eq!(shown, BTreeSet::from(Class::ALL), "a class without an example");
    let names: BTreeSet<&str> = Class::ALL.iter().map(|class| class.name()).collect();
    assert_eq!(names.len(), Class::ALL.len(), "two classes of one name");
}

#[test]
fn what_says_the_same_is_no_difference() {
    let same = shape(BASE);
    assert_eq!(found(&same, &same, &[]), []);
    for edits in [
        &[("uint32 schema_version = 1;", "// Provenance.\n  uint32 schema_version = 1; // the epoch")][..],
        &[("  bytes address = 30;\n", ""), ("string hostname = 20;", "bytes address = 30;\n  string hostname = 20;")],
        &[("reserved 301;", "reserved 300 to 309;")],
        &[("enum Locality", "enum Place"), ("  Locality locality", "  Place locality")],
    ] {
        let all = found(&same, &shape(&edited(edits)), &[]);
        assert!(all.is_empty(), "{edits:?}: {all:?}");
    }
}

#[test]
fn the_repository_s_proto_is_the_newest_epoch() {
    let registry = crate::epoch::load::embedded().expect("sound definitions");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/proto/xtcp_flat_record.proto");
    let source = Source { path: path.into(), includes: Vec::new(), message: declared::MESSAGE.to_owned() };
    let new = ProtoFile::read(&source).unwrap_or_else(|error| panic!("{error}")).shape;
    assert_eq!(new.fields.len(), registry.newest().columns.len());
    assert_eq!(found(&declared::shape(&registry, declared::embedded_reserved()), &new, &[]), []);
}

#[test]
fn a_likely_rename_asks_to_be_confirmed_and_a_confirmed_one_does_not() {
    let (old, new) = (shape(BASE), shape(&edited(&[("tcp_info_rto =", "tcp_info_rto_us =")])));
    let confirm = |all: &[Difference]| all.iter().find(|d| d.class == Class::Renamed).and_then(|d| d.confirm.clone());
    assert_eq!(confirm(&found(&old, &new, &[])).as_deref(), Some("--rename tcp_info_rto=tcp_info_rto_us"));
    assert_eq!(confirm(&found(&old, &new, &["tcp_info_rto=tcp_info_rto_us"])), None);

    // At another number and under another name it is a removal and an addition, until somebody says otherwise.
    let moved = shape(&edited(&[("tcp_info_rto = 1215", "tcp_info_rto_us = 1300")]));
    let all = found(&old, &moved, &[]);
    let classes: Vec<Class> = all.iter().map(|d| d.class).filter(|class| *class != Class::ReservedMissing).collect();
    assert_eq!(classes, [Class::Removed, Class::Added]);
    let removed = all.iter().find(|d| d.class == Class::Removed).expect("it is gone");
    assert_eq!(removed.confirm.as_deref(), Some("--rename tcp_info_rto=tcp_info_rto_us"));
}

#[test]
fn a_rename_that_can_not_be_is_refused() {
    let (old, new) = (shape(BASE), shape(BASE));
    for (argument, why) in [
        ("a", "write OLD=NEW"),
        ("=b", "write OLD=NEW"),
        ("nothing=hostname", "renamed twice"),
        ("hostname=nothing", "has no field `nothing`"),
        ("hostname=address", "renamed twice"),
    ] {
        let refused = match parse_renames([argument]) {
            Ok(renames) => differences(&old, &new, &Rules { renames, is_fleet_record: true }).err(),
            Err(error) => Some(error),
        };
        match refused {
            Some(error) => assert!(error.to_string().contains(why), "{argument}: {error}"),
            // `hostname` is there before and after: as after a first run.
            None => assert_eq!(argument, "nothing=hostname"),
        }
    }
    assert!(parse_renames(["a=b", "a=c"]).is_err() && parse_renames(["a=c", "b=c"]).is_err());
}

#[test]
fn the_table_of_classes_is_current() {
    let mut table = String::from("| class | verdict | for instance | why |\n|---|---|---|---|\n");
    let mut examples: Vec<&Example> = EXAMPLES.iter().collect();
    examples.sort_by_key(|example| (std::cmp::Reverse(example.class.verdict()), example.class));
    for example in examples {
        let all = of(example);
        let this = all.iter().find(|difference| difference.class == example.class).expect("shown above");
        let class = example.class;
        let why = class.about().replace('|', "\\|");
        let _ = writeln!(table, "| `{}` | {} | {} | {why} |", class.name(), class.verdict().name(), this.text);
        assert!(verdict(&all) >= class.verdict());
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/migrate.md");
    let page = fs::read_to_string(path).expect("docs/migrate.md");
    let (before, rest) = page.split_once("<!-- classes -->\n").expect("the table's begin");
    let (_, after) = rest.split_once("<!-- end of classes -->\n").expect("the table's end");
    assert_current("docs/migrate.md", &format!("{before}<!-- classes -->\n{table}<!-- end of classes -->\n{after}"));
}
