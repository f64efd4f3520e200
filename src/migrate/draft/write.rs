//! Files as they have to be, and how they come onto the disk.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::DraftError;

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// Where.
    pub path: PathBuf,
    /// What has to be in it.
    pub text: String,
    /// What is in it; `None` for a file that isn't there.
    pub before: Option<String>,
}

impl Write {
    pub(super) fn fresh(path: PathBuf, text: String) -> Self {
        Self { path, text, before: None }
    }

    pub(super) fn changed(path: PathBuf, before: &str, text: String) -> Self {
        Self { path, text, before: Some(before.to_owned()) }
    }

    /// Whether the file is so already.
    pub(super) fn is_done(&self) -> bool {
        fs::read_to_string(&self.path).is_ok_and(|text| text == self.text)
    }

    /// Nothing that isn't known is overwritten.
    pub(super) fn check(&self) -> Result<(), DraftError> {
        let path = || self.path.clone();
        match (fs::read_to_string(&self.path), &self.before) {
            (Ok(text), _) if text == self.text => Ok(()),
            (Ok(_), None) => Err(DraftError::Exists { path: path() }),
            (Ok(text), Some(before)) if text == *before => Ok(()),
            (Ok(_), Some(_)) => Err(DraftError::Changed { path: path() }),
            (Err(error), None) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            (Err(source), _) => Err(DraftError::Unreadable { path: path(), source }),
        }
    }

    /// The whole file or nothing of it, whenever the process may end.
    fn write(&self) -> Result<(), DraftError> {
        let fault = |source| DraftError::Unwritable { path: self.path.clone(), source };
        let folder = self.path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(fault)?;
        let name = self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let draft = folder.join(format!(".{name}.new"));
        fs::write(&draft, &self.text).and_then(|()| fs::rename(&draft, &self.path)).map_err(fault)
    }
}

/// Writes the files in their order. One that was ended in the middle is finished by the same command.
///
/// # Errors
/// When one is in the way, or can't be written.
pub fn write(writes: &[Write]) -> Result<(), DraftError> {
    for write in writes {
        write.check()?;
    }
    writes.iter().try_for_each(Write::write)
}
