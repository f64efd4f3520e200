//! Why definitions can't be made or written.

use std::{fmt::Write as _, io, path::PathBuf};

use super::{
    super::{Difference, ProtoError, RenameError, Verdict},
    ManifestError,
};
use crate::tree::{Refused, TreeError};

/// Nothing was written, unless it says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum DraftError {
    /// The tree can't be read.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The tree contradicts itself.
    #[error(transparent)]
    Definitions(#[from] Refused),
    /// The repository's `.proto` can't be read.
    #[error(transparent)]
    Proto(#[from] ProtoError),
    /// A rename that can't be.
    #[error(transparent)]
    Rename(#[from] RenameError),
    /// The manifest can't be changed.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// A file can't be read.
    #[error("can't read {}: {source}", path.display())]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file can't be written.
    #[error("can't write {}; all files are as they were: {source}", path.display())]
    Unwritable {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file can't be written, and neither can what was written before it be taken back.
    #[error("can't write {}: {why}; and what was written before it is still there: {error}", path.display())]
    HalfWritten {
        /// The path.
        path: PathBuf,
        /// Why.
        why: io::Error,
        /// Why nothing could be taken back.
        error: Box<DraftError>,
    },
    /// A file can't be put back.
    #[error("can't put {} back as it was: {source}", path.display())]
    Stuck {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file was changed since a run was ended in the middle.
    #[error("a `migrate new` was ended in the middle, and {} was changed since, by somebody else", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What that run wrote about itself.
        journal: PathBuf,
    },
    /// What a run wrote about itself can't be read.
    #[error("a `migrate new` was ended in the middle, and {} doesn't say what it wrote", path.display())]
    NoJournal {
        /// The file.
        path: PathBuf,
    },
    /// The record can't be as it is.
    #[error("the record is refused:\n{}", listed(.0))]
    Refused(Vec<Difference>),
    /// A rename that is only likely.
    #[error("say whether these are renames:\n{}", listed(.0))]
    Unconfirmed(Vec<Difference>),
    /// The number is taken.
    #[error("epoch {number} is in use already, and what changed needs a new one{}", .next.map_or(String::new(), |next| format!("; the next is {next}")))]
    Used {
        /// The number that was asked for.
        number: u32,
        /// The next free one, if there is one.
        next: Option<u32>,
    },
    /// There is no next number.
    #[error(
        "what changed needs a new epoch, and there is none after epoch {}, the last that a record can name",
        u32::MAX
    )]
    LastEpoch,
    /// The table's key would be gone.
    #[error("`{column}` is gone, and {table} is sorted by it or loses rows by it; keep the field")]
    Key {
        /// The column.
        column: String,
        /// The table.
        table: String,
    },
    /// The list of what was published is none.
    #[error("{} is no list of what was published; take it back from the repository", path.display())]
    NoList {
        /// The list.
        path: PathBuf,
    },
    /// Definitions have local edits.
    #[error("the definitions were edited since they were published ({}):\n  {}", path.display(), edited.join("\n  "))]
    Edited {
        /// The list of what was published.
        path: PathBuf,
        /// What was edited.
        edited: Vec<String>,
    },
    /// The repository's `.proto` has local edits.
    #[error("{} isn't what the newest epoch says:\n{}", path.display(), listed(found))]
    ProtoEdited {
        /// The `.proto`.
        path: PathBuf,
        /// What it says otherwise.
        found: Vec<Difference>,
    },
    /// A file is there and says something else.
    #[error("{} is there already and says something else; move it away", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A file was changed since it was read.
    #[error("{} was changed by somebody else meanwhile; run the command again", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The columns of a file can't be found in its text.
    #[error("{file}: columns have to be written one below the other, each beginning with `  - `")]
    Columns {
        /// The file.
        file: String,
    },
    /// What was made is refused by the program itself.
    #[error("what would be written isn't sound, so nothing was: {0}")]
    Made(Refused),
    /// The `.proto` with its `reserved` lines can't be read, where it would be, as what it was.
    #[error("the .proto would not be readable as {}, so nothing was written:\n  {why}", path.display())]
    Misplaced {
        /// Where it would be.
        path: PathBuf,
        /// What was read in it.
        why: String,
    },
    /// What was made says something else than the `.proto`.
    #[error("what would be written isn't what the .proto says, so nothing was:\n{}", listed(.0))]
    Unlike(Vec<Difference>),
}

/// What is refused or to be confirmed; everything when nothing is.
fn listed(found: &[Difference]) -> String {
    let worst = found.iter().map(|difference| difference.class.verdict()).max().unwrap_or(Verdict::Note);
    let mut text = String::new();
    for difference in found.iter().filter(|difference| difference.class.verdict() == worst) {
        let place = difference.spot.map_or(String::new(), |spot| format!(":{}:{}", spot.line, spot.column));
        let about = difference.confirm.as_deref().unwrap_or(difference.class.about());
        let _ = writeln!(text, "  {}{place}: {}: {about}", difference.file, difference.text);
    }
    text.trim_end().to_owned()
}
