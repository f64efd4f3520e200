//! A copy of what `migrate` reads and writes, for the tests beside the code and those on real services.

use std::{fs, path::Path};

/// A copy of the definitions and the `.proto` in a folder.
pub struct Repository {
    pub root: tempfile::TempDir,
}

impl Repository {
    pub fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        for part in ["ddl", "proto"] {
            copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join(part), &root.path().join(part));
        }
        Self { root }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).expect("copied");
        }
    }
}
