//! Files of the repository that the code writes.

use std::{env, fs, path::Path};

/// Asserts that a file holds `text`; with `UPDATE_DOCS=1` in the environment writes it instead.
pub(crate) fn assert_current(path: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("the folder can be made");
        fs::write(&path, text).expect("the file can be written");
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == text, "{} is out of date; `UPDATE_DOCS=1 cargo test` writes it anew", path.display());
}
