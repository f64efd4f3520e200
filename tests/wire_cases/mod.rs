//! The wire cases: each `NAME.bin` in `tests/cases` is a message value, `NAME.json` what must come of it.

use std::{fs, path::PathBuf};

use serde_json::Value;

/// A message and what must come of it.
pub struct Case {
    pub name: String,
    pub message: Vec<u8>,
    pub expected: Value,
}

/// All of them.
pub fn all() -> Vec<Case> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut cases = Vec::new();
    for entry in fs::read_dir(folder).expect("tests/cases") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "bin") {
            let expected = fs::read_to_string(path.with_extension("json")).expect("a .json beside the .bin");
            cases.push(Case {
                name: path.file_stem().expect("a name").to_string_lossy().into_owned(),
                message: fs::read(&path).expect("the message"),
                expected: serde_json::from_str(&expected).expect("JSON"),
            });
        }
    }
    assert!(cases.len() >= 28, "only {} cases found", cases.len());
    cases
}
