//! A folder with what `migrate` reads and writes, for the tests beside the code and those on real services.
//!
//! It is a small record of three epochs, which stays as it is whatever epochs the product gains: what tests say of the
//! fourth is true in a year as well.

use std::{fs, path::Path};

/// Definitions and a `.proto` in a folder of their own.
pub struct Repository {
    pub root: tempfile::TempDir,
}

impl Repository {
    /// The small record.
    pub fn new() -> Self {
        let own = Path::new(env!("CARGO_MANIFEST_DIR"));
        let repository = Self::of(&own.join("tests/repository"));
        let ddl = repository.root.path().join("ddl");
        // What isn't about epochs is the product's.
        let manifest = fs::read_to_string(ddl.join("manifest.yaml")).expect("the manifest");
        let defined = manifest.lines().filter_map(|line| line.trim().strip_prefix("defines: "));
        for file in defined.flat_map(|path| [format!("{path}.yaml"), format!("{path}.sql")]) {
            let (from, to) = (own.join("ddl").join(&file), ddl.join(&file));
            if from.exists() && !to.exists() {
                fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
                fs::copy(from, to).expect("copied");
            }
        }
        repository
    }

    /// A copy of what is in a folder.
    pub fn of(folder: &Path) -> Self {
        let root = tempfile::tempdir().expect("a folder");
        for part in ["ddl", "proto"] {
            copy(&folder.join(part), &root.path().join(part));
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
