//! All files or none, wherever a run may end.
//!
//! Before anything else is touched, a journal in the definitions says what every file is and becomes. Then all texts are
//! written beside their files, which finds the places that can't be written, and only then the files are replaced, one after
//! the other. Whoever finds the journal takes everything back by it: the run itself when a file can't be written, the next
//! run when the process was ended. As long as it is there, the definitions can't be read.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{DraftError, Write, write::staged};
use crate::tree::UNFINISHED;

/// Asked before each change on the disk, with what is changed: so tests end a run wherever it may end.
pub(super) type Before<'a> = &'a mut dyn FnMut(&Path) -> io::Result<()>;

/// What a run is about to do.
#[derive(Debug, serde::Deserialize, serde::Serialize)]
struct Journal {
    writes: Vec<Write>,
    /// Folders that weren't there, the innermost first.
    folders: Vec<PathBuf>,
}

/// Writes the files of a draft of the definitions in that directory: all of them, or none.
///
/// # Errors
/// When one is in the way, or can't be written. The files are as they were then, unless the error says otherwise.
pub fn write(directory: &Path, writes: &[Write]) -> Result<(), DraftError> {
    write_by(directory, writes, &mut |_| Ok(()))
}

/// Takes back what a run has written that was ended in the middle. Does nothing where there was none.
///
/// # Errors
/// When a file was changed since, or can't be written.
pub fn take_back(directory: &Path) -> Result<(), DraftError> {
    take_back_by(directory, &mut |_| Ok(()))
}

pub(super) fn write_by(directory: &Path, writes: &[Write], before: Before<'_>) -> Result<(), DraftError> {
    if writes.is_empty() {
        return Ok(());
    }
    for write in writes {
        write.check()?;
    }
    let path = directory.join(UNFINISHED);
    let unwritable = |path: PathBuf| move |source| DraftError::Unwritable { path, source };
    let journal = Journal::of(writes).map_err(unwritable(path.clone()))?;
    let text = serde_json::to_string_pretty(&journal).map_err(|error| unwritable(path.clone())(error.into()))?;
    let ended = stage(&path, &text, before)
        .and_then(|()| place(&path, before))
        .map_err(|source| (path.clone(), source))
        .and_then(|()| journal.carry_out(before));
    let ended = ended
        .and_then(|()| before(&path).and_then(|()| fs::remove_file(&path)).map_err(|source| (path.clone(), source)));
    let Err((path, source)) = ended else { return Ok(()) };
    match take_back_by(directory, before) {
        Ok(()) => Err(DraftError::Unwritable { path, source }),
        Err(error) => Err(DraftError::HalfWritten { path, why: source, error: Box::new(error) }),
    }
}

pub(super) fn take_back_by(directory: &Path, before: Before<'_>) -> Result<(), DraftError> {
    let path = directory.join(UNFINISHED);
    // A run may have been ended before its journal was whole: then there is nothing else of it.
    let _ = fs::remove_file(staged(&path));
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(DraftError::Unreadable { path, source }),
    };
    let journal: Journal = serde_json::from_str(&text).map_err(|_| DraftError::NoJournal { path: path.clone() })?;
    if let Some(other) = journal.writes.iter().find(|write| !write.is_done() && !write.is_before()) {
        return Err(DraftError::Foreign { path: other.path.clone(), journal: path });
    }
    let unwritable = |path: PathBuf| move |source| DraftError::Stuck { path, source };
    for write in journal.writes.iter().rev() {
        journal.put_back(write, before).map_err(unwritable(write.path.clone()))?;
    }
    for folder in &journal.folders {
        // One that somebody else uses meanwhile stays.
        let _ = fs::remove_dir(folder);
    }
    before(&path).and_then(|()| fs::remove_file(&path)).map_err(unwritable(path))
}

impl Journal {
    fn of(writes: &[Write]) -> io::Result<Self> {
        let mut folders: Vec<PathBuf> = Vec::new();
        let mut whole = Vec::new();
        for write in writes {
            // The next run may be given from another folder; and what a link leads to is written, not the link.
            let path = fs::canonicalize(&write.path).or_else(|_| std::path::absolute(&write.path))?;
            let absent = path.ancestors().skip(1).take_while(|folder| !folder.exists()).map(Path::to_owned);
            let absent: Vec<PathBuf> = absent.filter(|folder| !folders.contains(folder)).collect();
            folders.extend(absent);
            whole.push(Write { path, ..write.clone() });
        }
        // The longest path is the innermost.
        folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
        Ok(Self { writes: whole, folders })
    }

    /// All texts beside their files, then all files. What failed, and why.
    fn carry_out(&self, before: Before<'_>) -> Result<(), (PathBuf, io::Error)> {
        for write in &self.writes {
            stage(&write.path, &write.text, before).map_err(|source| (write.path.clone(), source))?;
        }
        for write in &self.writes {
            place(&write.path, before).map_err(|source| (write.path.clone(), source))?;
        }
        Ok(())
    }

    fn put_back(&self, write: &Write, before: Before<'_>) -> io::Result<()> {
        match &write.before {
            _ if write.is_before() => {}
            Some(text) => {
                stage(&write.path, text, before)?;
                place(&write.path, before)?;
            }
            None => before(&write.path).and_then(|()| fs::remove_file(&write.path))?,
        }
        match fs::remove_file(staged(&write.path)) {
            Err(error) if staged(&write.path).exists() => Err(error),
            _ => Ok(()),
        }
    }
}

fn stage(path: &Path, text: &str, before: Before<'_>) -> io::Result<()> {
    before(path)?;
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    fs::write(staged(path), text)
}

/// The whole file or nothing of it.
fn place(path: &Path, before: Before<'_>) -> io::Result<()> {
    before(path)?;
    fs::rename(staged(path), path)
}
