//! The definitions that a changed `.proto` asks for: all files as they have to be, or why they can't be.
//!
//! Nothing is written here. [`draft`] makes every file in memory, reads the tree that they would make as the program
//! reads any other, and holds it against the `.proto`: what doesn't say the same is never written.

mod column;
mod epoch_file;
mod error;
mod items;
mod journal;
mod manifest_file;
mod migration_file;
mod proto_text;
mod roles_file;
#[cfg(test)]
mod tests;
mod write;
mod yaml;

use std::{fs, path::Path, path::PathBuf};

pub use error::DraftError;
pub use journal::{take_back, write};
pub use manifest_file::ManifestError;
pub use write::Write;

use super::{
    Class, Difference, ProtoFile, Reserved, Rules, Shape, Verdict, declared, differences, left, renames::Renames,
    verdict,
};
use crate::{
    bootstrap::{Body, Definitions, Object, publication},
    tree::{File, Tree},
};

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// The tree of definitions.
    pub directory: PathBuf,
    /// The number of the new epoch, if a new one is asked for.
    pub epoch: Option<u32>,
    /// The repository's `.proto`, which becomes the new one.
    pub proto: PathBuf,
    /// The directory of the files that show each bump.
    pub migrations: PathBuf,
    /// How the two records are compared.
    pub rules: Rules,
}

/// What has to be written, and why.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The epoch that the record has.
    pub epoch: u32,
    /// Whether that is a new one.
    pub is_new_epoch: bool,
    /// What is different from the epoch before.
    pub differences: Vec<Difference>,
    /// The files, in the order in which they are written. None when there is nothing to do.
    pub writes: Vec<Write>,
}

/// Makes the definitions.
///
/// # Errors
/// When the record can't be, the tree isn't as it was published, or a file is in the way.
pub fn draft(new: &ProtoFile, path: &Path, request: &Request) -> Result<Draft, DraftError> {
    let whole = Tree::from_dir(&request.directory)?;
    let (tree, unlisted) = listed(&whole, &request.directory);
    let definitions = Definitions::of(&tree)?;
    let published = published(&request.directory)?;
    check_published(&tree, &definitions, published.as_deref(), &request.directory)?;

    let is_same_file = fs::canonicalize(&request.proto).is_ok_and(|own| fs::canonicalize(path).is_ok_and(|p| p == own));
    // Edited in its place, it may have lost what it reserved.
    let kept = if is_same_file { None } else { declared::reserved_by(&request.proto) };
    let kept = kept.unwrap_or_else(declared::embedded_reserved);
    let old = declared::shape(&definitions.registry, kept.clone());
    let found = differences(&old, &new.shape, &request.rules)?;
    check(&found)?;
    let newest = definitions.registry.newest().number;
    let is_new_epoch = match (verdict(&found), request.epoch) {
        (Verdict::Note, _) => {
            return Ok(Draft { epoch: newest, is_new_epoch: false, differences: found, writes: Vec::new() });
        }
        (_, Some(number)) if number > newest => true,
        (Verdict::Additive, None) => false,
        (Verdict::Additive, Some(number)) if number == newest => false,
        (Verdict::Bump, None) => true,
        (_, number) => return Err(DraftError::Used { number: number.unwrap_or(newest), next: newest.checked_add(1) }),
    };
    let epoch = match (is_new_epoch, request.epoch) {
        (false, _) => newest,
        (true, Some(number)) => number,
        (true, None) => newest.checked_add(1).ok_or(DraftError::LastEpoch)?,
    };
    let making = Making { new, old: &old, kept, request, tree: &tree, definitions: &definitions, published };
    let mut writes = if is_new_epoch { making.new_epoch(epoch)? } else { making.columns()? };
    // A file that nothing lists is only expected where this one goes.
    if unlisted.iter().any(|path| !writes.iter().any(|write| write.path == request.directory.join(path))) {
        Definitions::of(&whole)?;
    }
    making.check(&writes)?;
    writes.insert(0, making.proto(path, epoch, is_new_epoch)?);
    for write in &writes {
        write.check()?;
    }
    writes.retain(|write| !write.is_done());
    Ok(Draft { epoch, is_new_epoch, differences: found, writes })
}

/// The tree without files of epochs that nothing lists, which may stand where a new one has to be written; and those.
fn listed(whole: &Tree, directory: &Path) -> (Tree, Vec<String>) {
    let manifest = whole.get("manifest.yaml").map_or("", |file| file.text.as_str());
    let is_listed = |path: &str| {
        let stem = path.trim_end_matches(".yaml");
        !path.starts_with("epochs/") || manifest.lines().any(|line| line.trim() == format!("defines: {stem}"))
    };
    let unlisted = whole.files().map(|(path, _)| path).filter(|path| !is_listed(path)).map(str::to_owned).collect();
    let kept = whole.files().filter(|(path, _)| is_listed(path));
    let root = directory.display().to_string();
    (Tree::from_files(&root, kept.map(|(path, file)| (path, file.text.as_str()))), unlisted)
}

fn published(directory: &Path) -> Result<Option<String>, DraftError> {
    let path = directory.join(publication::FILE);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(DraftError::Unreadable { path, source }),
    }
}

/// Definitions that were edited since they were published are somebody's work under way.
fn check_published(
    tree: &Tree,
    definitions: &Definitions,
    published: Option<&str>,
    directory: &Path,
) -> Result<(), DraftError> {
    let Some(published) = published else { return Ok(()) };
    let path = directory.join(publication::FILE);
    let (_, objects) = publication::read(published).ok_or_else(|| DraftError::NoList { path: path.clone() })?;
    let edited = publication::altered(&objects, &publication::lines(tree, definitions));
    if edited.is_empty() { Ok(()) } else { Err(DraftError::Edited { path, edited }) }
}

/// Nothing is refused, and nothing is only likely.
fn check(found: &[Difference]) -> Result<(), DraftError> {
    if verdict(found) == Verdict::Refused {
        return Err(DraftError::Refused(found.to_vec()));
    }
    let is_likely = |difference: &&Difference| difference.class == Class::Renamed && difference.confirm.is_some();
    let likely: Vec<Difference> = found.iter().filter(is_likely).cloned().collect();
    if likely.is_empty() { Ok(()) } else { Err(DraftError::Unconfirmed(likely)) }
}

struct Making<'a> {
    new: &'a ProtoFile,
    old: &'a Shape,
    kept: Reserved,
    request: &'a Request,
    tree: &'a Tree,
    definitions: &'a Definitions,
    published: Option<String>,
}

impl Making<'_> {
    /// The object of the newest epoch, and its file.
    fn newest(&self) -> (&Object, &str, &File) {
        let number = self.definitions.registry.newest().number;
        let object = self.definitions.objects.iter().find(|o| matches!(o.body, Body::Epoch(n) if n == number));
        let object = object.expect("every epoch is an object");
        let path = object.entry.defines.as_ref().map_or("", |defines| defines.value.as_str());
        let file = object.entry.file().and_then(|path| self.tree.get(&path)).expect("every epoch has a file");
        (object, path, file)
    }

    fn renames(&self) -> &Renames {
        &self.request.rules.renames
    }

    fn pairs(&self) -> Vec<epoch_file::Pair<'_>> {
        let epoch = self.definitions.registry.newest();
        let was = |name: &str| {
            let confirmed = self.renames().iter().find(|(_, new)| *new == name);
            confirmed.map(|(old, _)| old.clone()).filter(|old| epoch.column(old).is_some())
        };
        epoch_file::pairs(epoch, &self.new.shape, was)
    }

    fn new_epoch(&self, number: u32) -> Result<Vec<Write>, DraftError> {
        let (object, path, file) = self.newest();
        let epoch = self.definitions.registry.newest();
        self.check_keys()?;
        let text = epoch_file::next(number, epoch, &file.text, &self.pairs())
            .ok_or_else(|| DraftError::Columns { file: file.name.to_string() })?;
        let defines = epoch_file::table_name(path, number);
        let id = epoch_file::table_name(&object.entry.id.value, number);
        let (manifest, release) = self.manifest_with_release()?;
        let manifest = manifest_file::with_epoch(&manifest, &object.entry.id.value, &id, &defines)?;
        let epoch_file = self.fresh(&format!("{defines}.yaml"), text);
        self.finish(epoch_file, manifest, &release, true)
    }

    fn columns(&self) -> Result<Vec<Write>, DraftError> {
        let (object, path, file) = self.newest();
        let epoch = self.definitions.registry.newest();
        let text = epoch_file::widened(epoch, &file.text, &self.pairs())
            .ok_or_else(|| DraftError::Columns { file: file.name.to_string() })?;
        let (manifest, release) = self.manifest_with_release()?;
        let manifest = manifest_file::with_version(&manifest, &object.entry.id.value, object.entry.version + 1)?;
        let epoch_file = Write::changed(self.request.directory.join(format!("{path}.yaml")), &file.text, text);
        self.finish(epoch_file, manifest, &release, false)
    }

    fn manifest(&self) -> &str {
        self.tree.get("manifest.yaml").map_or("", |file| &file.text)
    }

    fn manifest_with_release(&self) -> Result<(String, String), DraftError> {
        let before = &self.definitions.manifest.release;
        let release = manifest_file::next_release(before)?;
        Ok((manifest_file::with_release(self.manifest(), before, &release), release))
    }

    fn fresh(&self, path: &str, text: String) -> Write {
        Write::fresh(self.request.directory.join(path), text)
    }

    /// The table's keys go along with renames; what is gone can be no key.
    fn check_keys(&self) -> Result<(), DraftError> {
        let epoch = self.definitions.registry.newest();
        let pairs = self.pairs();
        let ttl = epoch.table.ttl.iter().map(|ttl| &ttl.column);
        for key in epoch.table.order_by.iter().chain(ttl) {
            let at = epoch.column(key);
            if !pairs.iter().any(|pair| pair.before == at) {
                return Err(DraftError::Key { column: key.clone(), table: epoch.table.name.clone() });
            }
        }
        Ok(())
    }

    /// The files of definitions: the epoch's own, the list of what was published, the migration, the grants, the manifest
    /// last. Until the manifest is there, nothing of the rest counts.
    fn finish(
        &self,
        epoch_file: Write,
        manifest: String,
        release: &str,
        is_new_epoch: bool,
    ) -> Result<Vec<Write>, DraftError> {
        let manifest = Write::changed(self.request.directory.join("manifest.yaml"), self.manifest(), manifest);
        let (tree, definitions) = self.made(&[&epoch_file, &manifest])?;
        let migration = match is_new_epoch {
            true => migration_file::epoch(&definitions),
            false => migration_file::columns(self.definitions.registry.newest(), &definitions),
        };
        let name = migration_file::name(&definitions, is_new_epoch);
        let mut writes = vec![epoch_file, Write::fresh(self.request.migrations.join(name), migration)];
        if let Some(published) = &self.published {
            let mut text = published.clone();
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            let listed = |line: &str| published.lines().any(|known| known == line);
            let lines = publication::lines(&tree, &definitions);
            let lines = lines.iter().map(|(id, version, sum)| format!("{id} {version} {sum}"));
            for line in [format!("release {release}")].into_iter().chain(lines).filter(|line| !listed(line)) {
                text.push_str(&line);
                text.push('\n');
            }
            writes.push(Write::changed(self.request.directory.join(publication::FILE), published, text));
        }
        let (before, after) =
            (&self.definitions.registry.newest().table.name, &definitions.registry.newest().table.name);
        for (path, text) in roles_file::with_table(self.tree, before, after).into_iter().filter(|_| is_new_epoch) {
            let before = self.tree.get(&path).map_or("", |file| file.text.as_str());
            writes.push(Write::changed(self.request.directory.join(path), before, text));
        }
        writes.push(manifest);
        Ok(writes)
    }

    /// The tree that these files would make.
    fn made(&self, writes: &[&Write]) -> Result<(Tree, Definitions), DraftError> {
        let mut files: Vec<(String, String)> =
            self.tree.files().map(|(path, file)| (path.to_owned(), file.text.clone())).collect();
        for write in writes {
            let Ok(path) = write.path.strip_prefix(&self.request.directory) else { continue };
            let path = path.display().to_string();
            files.retain(|(other, _)| *other != path);
            files.push((path, write.text.clone()));
        }
        let root = self.request.directory.display().to_string();
        let tree = Tree::from_files(&root, files.iter().map(|(path, text)| (path.as_str(), text.as_str())));
        let definitions = Definitions::of(&tree).map_err(DraftError::Made)?;
        Ok((tree, definitions))
    }

    /// The definitions that were made say what the `.proto` says.
    fn check(&self, writes: &[Write]) -> Result<(), DraftError> {
        let all: Vec<&Write> =
            writes.iter().filter(|write| write.path.extension().is_some_and(|e| e == "yaml")).collect();
        let (_, definitions) = self.made(&all)?;
        let rules = Rules { renames: Renames::new(), ..self.request.rules.clone() };
        let found = differences(&declared::shape(&definitions.registry, self.kept.clone()), &self.new.shape, &rules)?;
        match verdict(&found) {
            Verdict::Note => Ok(()),
            _ => Err(DraftError::Unlike(found)),
        }
    }

    /// The repository's `.proto`.
    fn proto(&self, given: &Path, epoch: u32, is_new_epoch: bool) -> Result<Write, DraftError> {
        let left = left(self.old, &self.new.shape);
        let said = match is_new_epoch {
            true => format!("Left by epoch {epoch}. They mean something else in older records."),
            false => "They mean something else in older records.".to_owned(),
        };
        let text = proto_text::with_reserved(&self.new.text, &self.new.shape, &left, &said);
        let path = &self.request.proto;
        self.check_made(path, &text)?;
        let current = match fs::read_to_string(path) {
            Ok(current) => current,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Write::fresh(path.clone(), text)),
            Err(source) => return Err(DraftError::Unreadable { path: path.clone(), source }),
        };
        let is_same_file = fs::canonicalize(path).ok() == fs::canonicalize(given).ok();
        if !is_same_file && current != text {
            self.check_current(path)?;
        }
        Ok(Write::changed(path.clone(), &current, text))
    }

    /// The `.proto` that is made says, in its place, what the one says that was given: the build reads it there.
    fn check_made(&self, path: &Path, text: &str) -> Result<(), DraftError> {
        let misplaced = |why: String| DraftError::Misplaced { path: path.to_owned(), why };
        let source =
            super::Source { path: path.to_owned(), includes: Vec::new(), message: declared::MESSAGE.to_owned() };
        let made = ProtoFile::of_text(text.to_owned(), &source).map_err(|error| misplaced(error.to_string()))?;
        let rules = Rules { renames: Renames::new(), is_fleet_record: false };
        let found = differences(&self.new.shape, &made.shape, &rules)?;
        match found.first().filter(|_| verdict(&found) != Verdict::Note) {
            None => Ok(()),
            Some(first) => Err(misplaced(first.text.clone())),
        }
    }

    /// The `.proto` that is replaced says what the newest epoch says: otherwise it is somebody's work under way.
    fn check_current(&self, path: &Path) -> Result<(), DraftError> {
        let source =
            super::Source { path: path.to_owned(), includes: Vec::new(), message: declared::MESSAGE.to_owned() };
        let current = ProtoFile::read(&source)?;
        let rules = Rules { renames: Renames::new(), is_fleet_record: false };
        let found = differences(self.old, &current.shape, &rules)?;
        match verdict(&found) {
            Verdict::Note => Ok(()),
            _ => Err(DraftError::ProtoEdited { path: path.to_owned(), found }),
        }
    }
}
