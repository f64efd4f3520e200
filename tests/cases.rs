//! Wire cases with their expected outcome: each `NAME.bin` is a message value, `NAME.json` what must come of it.

use std::{fs, path::PathBuf};

use serde_json::Value;
use xtcp_ingest::{config::Framing, epoch, inspect, lane::Schema};

fn cases() -> Vec<(String, Vec<u8>, Value)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut cases = Vec::new();
    for entry in fs::read_dir(folder).expect("tests/cases") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "bin") {
            let expected = fs::read_to_string(path.with_extension("json")).expect("a .json beside the .bin");
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            cases.push((name, fs::read(&path).expect("the message"), serde_json::from_str(&expected).expect("JSON")));
        }
    }
    assert!(cases.len() >= 28, "only {} cases found", cases.len());
    cases
}

/// Drops what a case does not say of a diverted piece.
fn reasons(errors: &Value) -> Vec<(Value, Value)> {
    errors.as_array().expect("a list").iter().map(|e| (e["reason"].clone(), e["record"].clone())).collect()
}

#[test]
fn every_case_comes_out_as_it_says() {
    let registry = epoch::load::embedded().expect("the definitions");
    let schema = Schema::new(&registry, "xtcp_flat_records_errors", Framing::Delimited);
    for (name, message, expected) in cases() {
        let report = inspect::inspect(&schema, &message).to_json();
        let alternatives = expected["alternatives"].as_array().cloned().unwrap_or_default();
        let as_good = alternatives.iter().any(|errors| reasons(errors) == reasons(&report["errors"]));
        if !as_good {
            assert_eq!(report["rows"], expected["rows"], "rows of {name}");
            assert_eq!(reasons(&report["errors"]), reasons(&expected["errors"]), "errors of {name}");
        }
    }
}
