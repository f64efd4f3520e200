//! Files as they have to be.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::DraftError;

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
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

    /// Whether the file is as it was.
    pub(super) fn is_before(&self) -> bool {
        match (fs::read_to_string(&self.path), &self.before) {
            (Ok(text), Some(before)) => text == *before,
            (Err(error), None) => error.kind() == io::ErrorKind::NotFound,
            _ => false,
        }
    }

    /// Nothing that isn't known is overwritten.
    pub(super) fn check(&self) -> Result<(), DraftError> {
        let path = || self.path.clone();
        match (fs::read_to_string(&self.path), &self.before) {
            (Ok(text), _) if text == self.text => Ok(()),
            (Ok(_), None) => Err(DraftError::Exists { path: path() }),
            (Ok(text), Some(before)) if text == *before => Ok(()),
            (Ok(_), Some(_)) => Err(DraftError::Changed { path: path() }),
            // A link to nothing can't be read either, and is there.
            (Err(_), None) if fs::symlink_metadata(&self.path).is_err_and(|e| e.kind() == io::ErrorKind::NotFound) => {
                Ok(())
            }
            (Err(source), _) => Err(DraftError::Unreadable { path: path(), source }),
        }
    }
}

/// Where a file's text stands until it is whole.
pub(super) fn staged(path: &Path) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!(".{name}.new"))
}
