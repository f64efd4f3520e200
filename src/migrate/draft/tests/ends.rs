//! A run ends wherever it may: all files are written in the end, or none.

use std::{collections::BTreeMap, io, panic};

use super::{
    super::journal::{take_back_by, write_by},
    *,
};

/// What a change of the record asks for.
struct Case {
    edits: &'static [(&'static str, &'static str)],
    renames: &'static [&'static str],
    files: usize,
}

const ADDITIVE: Case =
    Case { edits: &[("  string tag = 51;\n", "  string tag = 51;\n  string boot_id = 55;\n")], renames: &[], files: 5 };
const LABEL: Case =
    Case { edits: &[("LOCALITY_REMOTE = 3;", "LOCALITY_REMOTE = 3;\n  LOCALITY_TUNNEL = 4;")], renames: &[], files: 5 };
const EPOCH: Case = Case { edits: THIRD, renames: THIRD_RENAMES, files: 6 };
const CASES: [Case; 3] = [ADDITIVE, LABEL, EPOCH];

impl Case {
    fn begun(&self) -> (Repository, Draft) {
        let repository = Repository::new();
        repository.edit(self.edits);
        let draft = repository.draft(None, self.renames).expect("a draft");
        assert_eq!(draft.writes.len(), self.files);
        (repository, draft)
    }

    /// All files as they have to be.
    fn whole(&self) -> BTreeMap<PathBuf, String> {
        let (repository, _) = self.begun();
        repository.make(None, self.renames);
        files(&repository)
    }
}

/// Every file by its path within the repository.
fn files(repository: &Repository) -> BTreeMap<PathBuf, String> {
    let root = repository.root.path();
    let all = repository.everything().into_iter();
    all.map(|(path, text)| (path.strip_prefix(root).expect("below").to_owned(), text)).collect()
}

/// Ends the process, as far as a test can, at change number `at`; `false` when there were fewer.
fn killed(at: usize, mut run: impl FnMut(super::super::journal::Before<'_>)) -> bool {
    let mut changes = 0;
    let ended = panic::catch_unwind(panic::AssertUnwindSafe(|| {
        run(&mut |_| {
            changes += 1;
            if changes > at {
                // Without the hook's message.
                panic::resume_unwind(Box::new("killed"));
            }
            Ok(())
        });
    }));
    ended.is_err()
}

#[test]
fn a_run_that_was_ended_anywhere_is_finished_by_the_next() {
    for case in CASES {
        let whole = case.whole();
        let mut at = 0;
        loop {
            let (repository, draft) = case.begun();
            let (before, ddl) = (files(&repository), repository.path("ddl"));
            if !killed(at, |disk| write_by(&ddl, &draft.writes, disk).expect("written")) {
                assert_eq!(files(&repository), whole);
                break;
            }
            // Whoever reads meanwhile reads all of it or is told.
            match Definitions::open(Some(&ddl)) {
                Ok(_) => assert!(at < 2, "the journal is written before anything else: {at}"),
                Err(error) => assert!(error.to_string().contains("give that command again"), "{at}: {error}"),
            }
            if at % 2 == 0 {
                repository.make(None, case.renames);
                assert_eq!(files(&repository), whole, "after {at} changes");
            } else {
                take_back(&ddl).expect("taken back");
                assert_eq!(files(&repository), before, "after {at} changes");
                assert!(!repository.path("migrations").exists(), "after {at} changes");
            }
            at += 1;
        }
        // The journal twice, each file twice, the journal's end.
        assert_eq!(at, 3 + 2 * case.files);
    }
}

#[test]
fn taking_back_may_be_ended_anywhere_as_well() {
    let (renames, whole) = (ADDITIVE.renames, ADDITIVE.whole());
    for at in 0.. {
        let (repository, draft) = ADDITIVE.begun();
        let ddl = repository.path("ddl");
        assert!(killed(2 + 2 * ADDITIVE.files, |disk| write_by(&ddl, &draft.writes, disk).expect("written")));
        let was_killed = killed(at, |disk| take_back_by(&ddl, disk).expect("taken back"));
        repository.make(None, renames);
        assert_eq!(files(&repository), whole, "after {at} changes");
        if !was_killed {
            break;
        }
    }
}

#[test]
fn a_file_that_can_not_be_written_changes_none() {
    for case in CASES {
        for at in 0..3 + 2 * case.files {
            let (repository, draft) = case.begun();
            let before = files(&repository);
            let mut changes = 0;
            let error = write_by(&repository.path("ddl"), &draft.writes, &mut |_| {
                changes += 1;
                if changes == at + 1 { Err(io::Error::other("a full disk")) } else { Ok(()) }
            });
            let said = error.expect_err("refused").to_string();
            assert!(
                said.starts_with("can't write ") && said.ends_with("; all files are as they were: a full disk"),
                "{said}"
            );
            assert_eq!(files(&repository), before, "change {at}");
            assert!(!repository.path("migrations").exists(), "change {at}");
        }
    }
}

#[test]
fn what_can_not_be_taken_back_is_said_and_taken_back_by_the_next_run() {
    let (repository, draft) = ADDITIVE.begun();
    let mut changes = 0;
    let error = write_by(&repository.path("ddl"), &draft.writes, &mut |_| {
        changes += 1;
        if changes > 2 + ADDITIVE.files + 2 { Err(io::Error::other("a broken disk")) } else { Ok(()) }
    });
    let said = error.expect_err("refused").to_string();
    assert!(said.contains("what was written before it is still there: can't put "), "{said}");
    assert!(Definitions::open(Some(&repository.path("ddl"))).is_err());
    repository.make(None, ADDITIVE.renames);
    assert_eq!(files(&repository), ADDITIVE.whole());
}

#[test]
fn what_somebody_changed_since_is_not_taken_back() {
    let (repository, draft) = ADDITIVE.begun();
    let ddl = repository.path("ddl");
    assert!(killed(2 + 2 * ADDITIVE.files, |disk| write_by(&ddl, &draft.writes, disk).expect("written")));
    let manifest = repository.path("ddl/manifest.yaml");
    fs::write(&manifest, "mine").expect("written");
    let before = files(&repository);
    let said = take_back(&ddl).expect_err("refused").to_string();
    assert!(said.contains("manifest.yaml was changed since, by somebody else"), "{said}");
    assert_eq!(files(&repository), before);
}

#[test]
fn a_link_to_nothing_in_the_place_of_a_folder_changes_no_file() {
    for case in CASES {
        let (repository, draft) = case.begun();
        std::os::unix::fs::symlink("/nonexistent/folder", repository.path("migrations")).expect("a link");
        let before = |repository: &Repository| {
            let all = ["ddl", "proto"].map(|name| repository.path(name));
            let is_kept = |path: &PathBuf| all.iter().any(|folder| path.starts_with(folder));
            // The link itself can't be read.
            fs::remove_file(repository.path("migrations")).expect("removed");
            repository.everything().into_iter().filter(|(path, _)| is_kept(path)).collect::<Vec<_>>()
        };
        let said = write(&repository.path("ddl"), &draft.writes).expect_err("refused").to_string();
        assert!(said.contains("/migrations/v") && said.contains("all files are as they were"), "{said}");
        let (kept, _) = case.begun();
        let texts = |all: Vec<(PathBuf, String)>| all.into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        let untouched = texts(kept.everything().into_iter().filter(|(path, _)| !path.ends_with("new.proto")).collect());
        assert_eq!(texts(before(&repository)), untouched);
    }
}
