//! Where definition files come from: the tree inside the binary, or one on disk that replaces it.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use include_dir::{Dir, include_dir};

static EMBEDDED: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/ddl");

/// One file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// How messages name it.
    pub name: Arc<str>,
    /// Its text.
    pub text: String,
}

/// Definition files by their path within the tree, for instance `epochs/v2.yaml`.
#[derive(Debug, Clone)]
pub struct Tree {
    root: String,
    files: BTreeMap<String, File>,
}

/// The file of a tree that is there as long as it is being rewritten: what is beside it may be half of two releases.
pub(crate) const UNFINISHED: &str = ".migrate-new.json";

/// A tree on disk can't be read.
#[derive(Debug, thiserror::Error)]
#[error("can't read the definitions in {}: {why}", path.display())]
pub struct TreeError {
    path: PathBuf,
    why: Why,
}

/// What is wrong with a file or directory of a tree.
#[derive(Debug, thiserror::Error)]
enum Why {
    #[error("there is no such directory")]
    NoDirectory,
    #[error("it is no directory")]
    NotOne,
    #[error("it is a link to something that isn't there")]
    Dangling,
    #[error("it is no regular file")]
    Special,
    #[error("it isn't UTF-8")]
    NoText,
    #[error("{0}; let this account read it")]
    Denied(io::Error),
    #[error("a `migrate new` is at work here, or was ended in the middle; give that command again")]
    Unfinished,
    #[error("{0}")]
    Other(io::Error),
}

impl Why {
    fn of(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied => Self::Denied(error),
            io::ErrorKind::InvalidData => Self::NoText,
            io::ErrorKind::NotADirectory => Self::NotOne,
            _ => Self::Other(error),
        }
    }
}

impl Tree {
    /// The tree that was built into the binary.
    ///
    /// # Panics
    /// Never: the build only embeds text.
    #[must_use]
    pub fn embedded() -> Self {
        let mut tree = Self::empty("ddl");
        tree.add_embedded(&EMBEDDED);
        tree
    }

    /// The tree below a directory: every `.yaml` and `.sql` file of it.
    ///
    /// # Errors
    /// When the directory or a file of it can't be read, or a file isn't UTF-8, or the files are being rewritten.
    pub fn from_dir(directory: &Path) -> Result<Self, TreeError> {
        let refused = |why| TreeError { path: directory.to_owned(), why };
        if fs::metadata(directory).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return Err(refused(Why::NoDirectory));
        }
        if directory.join(UNFINISHED).exists() {
            return Err(refused(Why::Unfinished));
        }
        let mut tree = Self::empty(&directory.display().to_string());
        tree.add_dir(directory, "")?;
        Ok(tree)
    }

    /// A tree of given files, named below `root` in messages.
    #[must_use]
    pub fn from_files<'a>(root: &str, files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut tree = Self::empty(root);
        for (path, text) in files {
            tree.insert(path.to_owned(), text.to_owned());
        }
        tree
    }

    /// The file of that path.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&File> {
        self.files.get(path)
    }

    /// The paths and files, by name.
    pub fn files(&self) -> impl Iterator<Item = (&str, &File)> {
        self.files.iter().map(|(path, file)| (path.as_str(), file))
    }

    /// The paths and files of one directory and what is below it, by name.
    pub fn below<'a>(&'a self, directory: &'a str) -> impl Iterator<Item = (&'a str, &'a File)> {
        self.files().filter(move |(path, _)| path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/')))
    }

    /// How messages name a path of this tree, whether or not there is such a file.
    #[must_use]
    pub fn name(&self, path: &str) -> Arc<str> {
        format!("{}/{path}", self.root).into()
    }

    fn empty(root: &str) -> Self {
        Self { root: root.trim_end_matches('/').to_owned(), files: BTreeMap::new() }
    }

    fn insert(&mut self, path: String, text: String) {
        let name = self.name(&path);
        self.files.insert(path, File { name, text });
    }

    fn add_embedded(&mut self, directory: &Dir<'_>) {
        for file in directory.files() {
            let path = file.path().to_str().expect("embedded paths are UTF-8");
            if !is_definition(file.path()) {
                continue;
            }
            let text = file.contents_utf8().expect("embedded definitions are UTF-8");
            self.insert(path.replace('\\', "/"), text.to_owned());
        }
        for below in directory.dirs() {
            self.add_embedded(below);
        }
    }

    fn add_dir(&mut self, directory: &Path, prefix: &str) -> Result<(), TreeError> {
        let fault = |path: &Path| {
            let path = path.to_owned();
            move |error| TreeError { path, why: Why::of(error) }
        };
        for entry in fs::read_dir(directory).map_err(fault(directory))? {
            let entry = entry.map_err(fault(directory))?;
            let path = entry.path();
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if path.is_dir() {
                self.add_dir(&path, &format!("{name}/"))?;
            } else if is_definition(&path) {
                self.insert(name, read(&path).map_err(|why| TreeError { path, why })?);
            }
        }
        Ok(())
    }
}

/// The text of a file. What is no regular one isn't opened: a pipe would never end.
fn read(path: &Path) -> Result<String, Why> {
    match fs::metadata(path) {
        Ok(file) if !file.is_file() => Err(Why::Special),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Why::Dangling),
        Ok(_) | Err(_) => fs::read_to_string(path).map_err(Why::of),
    }
}

fn is_definition(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "yaml" || e == "sql")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_on_disk_holds_what_the_embedded_one_holds() {
        let embedded = Tree::embedded();
        let disk = Tree::from_dir(&Path::new(env!("CARGO_MANIFEST_DIR")).join("ddl")).expect("the repository's tree");
        assert!(embedded.files.contains_key("epochs/v2.yaml"));
        assert_eq!(embedded.files.keys().collect::<Vec<_>>(), disk.files.keys().collect::<Vec<_>>());
        for (path, file) in &embedded.files {
            assert_eq!(file.text, disk.files[path].text, "{path}");
        }
    }

    #[test]
    fn an_unreadable_directory_is_named() {
        let error = Tree::from_dir(Path::new("/nonexistent/ddl")).expect_err("there is no such directory");
        let expected = "can't read the definitions in /nonexistent/ddl: there is no such directory";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn what_is_no_text_is_named_with_the_cause() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.yaml");
        let said = |why: &str| {
            let error = Tree::from_dir(folder.path()).expect_err(why);
            assert_eq!(error.to_string(), format!("can't read the definitions in {}: {why}", path.display()));
            fs::remove_file(&path).expect("removed");
        };
        fs::write(&path, b"a: \xff\n").expect("written");
        said("it isn't UTF-8");
        std::os::unix::fs::symlink("/nonexistent/x.yaml", &path).expect("a link");
        said("it is a link to something that isn't there");
        // Were it opened, this would wait for somebody to write into it.
        assert!(std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
        said("it is no regular file");
        let _socket = std::os::unix::net::UnixListener::bind(&path).expect("a socket");
        said("it is no regular file");
        std::os::unix::fs::symlink("/dev/zero", &path).expect("a link");
        said("it is no regular file");
    }

    #[test]
    fn below_takes_whole_directory_names() {
        let tree = Tree::from_files("x", [("epochs/a.yaml", ""), ("epochs_old/b.yaml", ""), ("epochs.yaml", "")]);
        assert_eq!(tree.below("epochs").map(|(p, _)| p).collect::<Vec<_>>(), ["epochs/a.yaml"]);
    }
}
