//! What is no record: every fault of a `.proto` with its place.

use std::fs;

use super::{ProtoFile, Source, declared};

const HEAD: &str = "syntax = \"proto3\";\npackage xtcp_flat_record.v1;\n";

/// What is said of a file of that text.
fn refused(text: &str) -> String {
    let directory = tempfile::tempdir().expect("a folder");
    let path = directory.path().join("bad.proto");
    fs::write(&path, text).expect("written");
    let source = Source { path: path.clone(), includes: Vec::new(), message: declared::MESSAGE.to_owned() };
    let error = ProtoFile::read(&source).expect_err(text).to_string();
    error.replace(&format!("{}/", directory.path().display()), "")
}

/// A record with these lines, of which the first is line 4.
fn record(lines: &str) -> String {
    format!("{HEAD}message XtcpFlatRecord {{\n{lines}\n}}\n")
}

#[test]
fn every_fault_has_file_line_and_column() {
    for (text, place, why) in [
        (record("  uint32 a 1;"), "bad.proto:4:12: ", "expected"),
        (record("  uint32 a = 0;"), "bad.proto:4:14: ", "between 1 and"),
        (record("  uint32 a = 19000;"), "bad.proto:4:", "19000"),
        (record("  reserved 5;\n  uint32 a = 5;"), "bad.proto:5:", "5"),
        (record("  uint32 a = 1;\n  uint32 b = 1;"), "bad.proto:5:", "1"),
        (record("  uint32 a = 1;\n  uint32 a = 2;"), "bad.proto:5:", "a"),
        (record("  Nothing a = 1;"), "bad.proto:4:3: ", "Nothing"),
        (record("  message Inner { uint32 x = 1; }\n  uint32 a = 1;"), "bad.proto:4:3: ", "nested message `Inner`"),
        (record("  enum Side { SIDE_LEFT = 0; }\n  uint32 a = 1;"), "bad.proto:4:3: ", "nested enum `Side`"),
        (record("  oneof which { uint32 a = 1; uint32 b = 2; }"), "bad.proto:4:3: ", "oneof `which`"),
        (record("  map<string, uint32> m = 1;"), "bad.proto:4:3: ", "map field `m`"),
        (record("  group Old = 1 { }"), "bad.proto:4:3: ", "group"),
        (record("  required uint32 a = 1;"), "bad.proto:4:3: ", "required"),
        (record("  XtcpFlatRecord a = 1;"), "bad.proto:4:3: ", "field `a` is a message"),
        (record(""), "bad.proto:3:1: ", "without fields"),
        ("syntax = \"proto2\";\npackage xtcp_flat_record.v1;\n".to_owned(), "bad.proto:1:1: ", "proto3"),
        ("message XtcpFlatRecord { optional uint32 a = 1; }\n".to_owned(), "bad.proto:1:1: ", "proto3"),
        ("syntax = \"proto4\";\n".to_owned(), "bad.proto:1:10: ", "proto4"),
        (HEAD.to_owned(), "bad.proto:2:1: ", "messages here: none"),
        (format!("{HEAD}message Other {{ uint32 a = 1; }}"), "bad.proto:2:1: ", "`xtcp_flat_record.v1.Other`"),
        (
            "syntax = \"proto3\";\npackage other;\nmessage XtcpFlatRecord { uint32 a = 1; }\n".to_owned(),
            "bad.proto:2:1: ",
            "package `other`; `xtcp_flat_record.v1` is needed",
        ),
        (
            "syntax = \"proto3\";\nmessage XtcpFlatRecord { uint32 a = 1; }\n".to_owned(),
            "bad.proto:1:1: ",
            "no package; `xtcp_flat_record.v1` is needed",
        ),
        (
            format!("{HEAD}import \"away.proto\";\nmessage XtcpFlatRecord {{ uint32 a = 1; }}\n"),
            "bad.proto:3:1: ",
            "give its directory with `-I DIRECTORY`",
        ),
        (
            format!("{HEAD}enum E {{ E_A = 0; E_B = 70000; }}\nmessage XtcpFlatRecord {{ E e = 1; }}\n"),
            "bad.proto:4:26: ",
            "-32768 to 32767",
        ),
        (
            format!(
                "{HEAD}enum E {{ option allow_alias = true; E_A = 0; E_B = 0; }}\nmessage XtcpFlatRecord {{ E e = 1; }}\n"
            ),
            "bad.proto:4:26: ",
            "two labels",
        ),
        (format!("{HEAD}enum E {{ E_A = 1; }}\n"), "bad.proto:3:", "0"),
    ] {
        let said = refused(&text);
        assert!(said.starts_with(place) && said.contains(why), "{text}\n=> {said}");
    }
}

#[test]
fn all_parts_that_no_row_holds_are_named_at_once() {
    let said = refused(&record("  map<string, uint32> m = 1;\n  XtcpFlatRecord a = 2;\n  oneof w { uint32 b = 3; }"));
    let lines: Vec<&str> = said.lines().map(str::trim).collect();
    assert_eq!(lines.len(), 3, "{said}");
    for (line, place) in lines.iter().zip(["bad.proto:4:3: map", "bad.proto:5:3: field", "bad.proto:6:3: oneof"]) {
        assert!(line.starts_with(place), "{line}");
    }
}

#[test]
fn a_file_that_is_not_there_or_no_text_is_named() {
    let source = |path: &std::path::Path| Source {
        path: path.to_owned(),
        includes: Vec::new(),
        message: declared::MESSAGE.to_owned(),
    };
    let error = ProtoFile::read(&source("/nonexistent/x.proto".as_ref())).expect_err("no file").to_string();
    assert!(error.starts_with("can't read /nonexistent/x.proto: "), "{error}");
    let directory = tempfile::tempdir().expect("a folder");
    let path = directory.path().join("bad.proto");
    fs::write(&path, b"syntax = \"proto3\"; // \xff").expect("written");
    assert!(ProtoFile::read(&source(&path)).is_err());
}

#[test]
fn imports_are_found_beside_the_file_and_where_it_is_said() {
    let (own, other) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    fs::write(own.path().join("near.proto"), "syntax = \"proto3\";\npackage n;\nenum Near { NEAR_NO = 0; }\n")
        .expect("w");
    fs::create_dir(other.path().join("far")).expect("a folder");
    let far = "syntax = \"proto3\";\npackage f;\nenum Far { FAR_NO = 0; FAR_YES = 1; }\n";
    fs::write(other.path().join("far/far.proto"), far).expect("written");
    let path = own.path().join("main.proto");
    let text = format!(
        "{HEAD}import \"near.proto\";\nimport \"far/far.proto\";\nimport \"google/protobuf/timestamp.proto\";\n\
         message XtcpFlatRecord {{\n  n.Near near = 1;\n  f.Far far = 2;\n}}\n"
    );
    fs::write(&path, text).expect("written");
    let mut source = Source { path, includes: Vec::new(), message: declared::MESSAGE.to_owned() };
    let error = ProtoFile::read(&source).expect_err("far is away").to_string();
    assert!(error.contains("main.proto:4:1: ") && error.contains("far/far.proto"), "{error}");
    source.includes.push(other.path().to_owned());
    let shape = ProtoFile::read(&source).unwrap_or_else(|error| panic!("{error}")).shape;
    assert_eq!(shape.named("far").and_then(|field| field.labels.get(&1)).map(String::as_str), Some("yes"));
}
