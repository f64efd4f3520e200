//! The wire cases through `inspect`.

mod wire_cases;

use serde_json::Value;
use wire_cases::Case;
use xtcp_ingest::{config::Framing, epoch, inspect, lane::Schema};

/// Drops what a case does not say of a diverted piece.
fn reasons(errors: &Value) -> Vec<(Value, Value)> {
    errors.as_array().expect("a list").iter().map(|e| (e["reason"].clone(), e["record"].clone())).collect()
}

#[test]
fn every_case_comes_out_as_it_says() {
    let registry = epoch::load::embedded().expect("the definitions");
    let schema = Schema::new(&registry, "xtcp_flat_records_errors", Framing::Delimited);
    for Case { name, message, expected } in wire_cases::all() {
        let report = inspect::inspect(&schema, &message).to_json();
        let alternatives = expected["alternatives"].as_array().cloned().unwrap_or_default();
        let as_good = alternatives.iter().any(|errors| reasons(errors) == reasons(&report["errors"]));
        if !as_good {
            assert_eq!(report["rows"], expected["rows"], "rows of {name}");
            assert_eq!(reasons(&report["errors"]), reasons(&expected["errors"]), "errors of {name}");
        }
    }
}
