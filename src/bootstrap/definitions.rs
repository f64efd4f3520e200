//! Everything that is defined: the manifest, and for each of its objects what its file says.

use std::{collections::HashSet, path::Path};

use super::{
    manifest::{self, Entry, Kind, Manifest, NameSource},
    merge::Merge,
    parameters,
    role::Role,
    topics::TopicDefinition,
    view::View,
};
use crate::{
    config::Config,
    epoch::{Days, Epoch, PlainTable, Registry, Table, load},
    tree::{File, Place, Refused, Report, Tree, TreeError},
};

/// The definitions as a whole, validated.
#[derive(Debug, Clone)]
pub struct Definitions {
    /// What a deployment decides, and the databases.
    pub manifest: Manifest,
    /// The epochs, ascending.
    pub registry: Registry,
    /// The objects in the order in which they are created.
    pub objects: Vec<Object>,
    /// What of an overlay isn't applied, and why.
    pub overlay_refused: Vec<String>,
}

/// One object: its entry in the manifest and what its file says.
#[derive(Debug, Clone)]
pub struct Object {
    /// The entry.
    pub entry: Entry,
    /// What the file says.
    pub body: Body,
    /// Whether it is a deployment's own, and never to hurt the others.
    pub is_overlay: bool,
}

/// What an object's file says.
#[derive(Debug, Clone)]
pub enum Body {
    /// A database has no file.
    Database,
    /// The table of the epoch of that number.
    Epoch(u32),
    /// A table that no record lands in.
    Table(PlainTable),
    /// A table that reads others.
    Merge(Merge),
    /// A plain view.
    View(View),
    /// A view that writes what is inserted elsewhere into a table.
    MaterializedView(View),
    /// A role and what it may do.
    Role(Role),
    /// A Kafka topic.
    Topic(TopicDefinition),
}

/// The definitions can't be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Files can't be read.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// They contradict themselves.
    #[error(transparent)]
    Refused(#[from] Refused),
}

impl Definitions {
    /// Those inside the binary.
    ///
    /// # Errors
    /// When they contradict themselves, which the tests rule out.
    pub fn embedded() -> Result<Self, Refused> {
        Self::of(&Tree::embedded())
    }

    /// Those inside the binary, or in a directory that replaces them.
    ///
    /// # Errors
    /// When they can't be read or contradict themselves.
    pub fn open(directory: Option<&Path>) -> Result<Self, LoadError> {
        let tree = match directory {
            Some(directory) => Tree::from_dir(directory)?,
            None => Tree::embedded(),
        };
        Ok(Self::of(&tree)?)
    }

    /// Those that a configuration names, the overlay included.
    ///
    /// # Errors
    /// When they can't be read or contradict themselves. What is wrong with the overlay is no error.
    pub fn configured(config: &Config) -> Result<Self, LoadError> {
        let definitions = Self::open(config.schemas_dir.as_deref())?;
        Ok(match &config.overlay_dir {
            Some(directory) => definitions.with_overlay(directory),
            None => definitions,
        })
    }

    /// Those of a tree.
    ///
    /// # Errors
    /// When they contradict themselves: every problem of every file is named.
    pub fn of(tree: &Tree) -> Result<Self, Refused> {
        let mut report = Report::default();
        let definitions = read(tree, &mut report);
        report.finish(definitions)
    }

    /// The error table.
    ///
    /// # Panics
    /// Never: definitions without one are refused.
    #[must_use]
    pub fn errors(&self) -> &Table {
        let is_errors = |object: &&Object| object.entry.id.value == ERRORS;
        match self.objects.iter().find(is_errors).map(|object| &object.body) {
            Some(Body::Table(plain)) => &plain.table,
            _ => unreachable!("checked when the definitions were read"),
        }
    }
}

/// The id of the table that takes what can't be placed.
pub const ERRORS: &str = "data.flat_errors";
/// The id of the table that says what was applied: the first table of the manifest.
pub const LEDGER: &str = "data.schema_migrations";
/// The id of the table that says who may apply: the second.
pub const LEASE: &str = "data.schema_lock";

fn read(tree: &Tree, report: &mut Report) -> Option<Definitions> {
    let manifest = manifest::read(tree, report)?;
    let manifest_is_sound = report.is_clean();
    parameters::check(&manifest, report);
    let file = |entry: &Entry| entry.file().and_then(|path| tree.get(&path));
    let is_epoch = |entry: &Entry| {
        let path = entry.defines.as_ref().map_or("", |d| d.value.as_str());
        entry.kind == Kind::Table && path.strip_prefix(load::DIRECTORY).is_some_and(|rest| rest.starts_with('/'))
    };
    let epochs: Vec<&File> = manifest.objects.iter().filter(|e| is_epoch(e)).filter_map(file).collect();
    let (registry, numbers) = load::read(epochs.iter().copied(), report).unzip();
    let numbers = numbers.unwrap_or_default();
    let mut objects = Vec::new();
    for entry in &manifest.objects {
        let body = match (entry.kind, file(entry)) {
            (Kind::Table, Some(file)) if is_epoch(entry) => numbers.get(&file.name).copied().map(Body::Epoch),
            (_, file) => body(entry, file, &manifest, report),
        };
        objects.extend(body.map(|body| Object { entry: entry.clone(), body, is_overlay: false }));
    }
    let place = Place { file: tree.name(manifest::FILE), line: 0, field: "objects".to_owned() };
    if registry.is_none() && epochs.is_empty() {
        report.add(&place, "no table of an epoch is declared: no record could be placed");
    }
    let is_errors = |o: &Object| o.entry.id.value == ERRORS && matches!(o.body, Body::Table(_));
    if !objects.iter().any(is_errors) {
        report.add(&place, format!("no table `{ERRORS}` is declared: what can't be placed would have no place"));
    }
    if manifest_is_sound {
        // An entry that was refused would leave its file without a name.
        check_files(tree, &manifest, report);
    }
    let definitions = Definitions { manifest, registry: registry?, objects, overlay_refused: Vec::new() };
    check_names(&definitions, report);
    check_parameters(&definitions, report);
    check_targets(&definitions, report);
    Some(definitions)
}

/// What the file of an object says that is no epoch's table.
pub(super) fn body(entry: &Entry, file: Option<&File>, manifest: &Manifest, report: &mut Report) -> Option<Body> {
    match (entry.kind, file) {
        (Kind::Database, _) => Some(Body::Database),
        (_, None) => None,
        (Kind::Table, Some(file)) => load::plain_table(file, report).map(Body::Table),
        (Kind::Merge, Some(file)) => Merge::read(file, report).map(Body::Merge),
        (Kind::View, Some(file)) => View::read(file, report).map(Body::View),
        (Kind::MaterializedView, Some(file)) => View::read_materialized(file, report).map(Body::MaterializedView),
        (Kind::Role, Some(file)) => Role::read(file, report).map(Body::Role),
        (Kind::Topic, Some(file)) => TopicDefinition::read(file, &manifest.parameters, report).map(Body::Topic),
    }
}

/// A file that no object names would define nothing in silence.
fn check_files(tree: &Tree, manifest: &Manifest, report: &mut Report) {
    let named: HashSet<String> = manifest.objects.iter().filter_map(Entry::file).collect();
    // Roles are granted by an administrator: what could make them could give itself any right.
    let is_ours = |path: &str| path != manifest::FILE && !path.starts_with("roles/");
    for (path, file) in tree.files().filter(|(path, _)| is_ours(path) && !named.contains(*path)) {
        let place = Place { file: file.name.clone(), line: 0, field: String::new() };
        report.add(&place, format!("no object of the manifest is defined by `{path}`"));
    }
}

/// Reports objects whose name another one has.
pub(super) fn check_names(definitions: &Definitions, report: &mut Report) {
    let mut names = HashSet::new();
    for object in &definitions.objects {
        let entry = &object.entry;
        let name = definitions.object_name(object);
        let others = match entry.kind {
            Kind::Topic | Kind::Role => entry.kind.name(),
            _ => "",
        };
        if !names.insert((others, entry.database.clone(), name.clone())) {
            report.add(&entry.id.place, format!("another object has the name {name} already"));
        }
    }
}

/// Reports tables that name a parameter which nobody declares.
pub(super) fn check_parameters(definitions: &Definitions, report: &mut Report) {
    let declared = &definitions.manifest.parameters;
    for object in &definitions.objects {
        let Some(ttl) = definitions.table(object).and_then(|table| table.ttl.as_ref()) else { continue };
        let Days::Parameter(name) = &ttl.days else { continue };
        if !declared.iter().any(|p| p.name.value == *name) {
            let text = format!("rows leave after `{name}`, which is no parameter of the manifest");
            report.add(&object.entry.id.place, text);
        }
    }
}

/// Reports materialized views that write to a table which no object is.
pub(super) fn check_targets(definitions: &Definitions, report: &mut Report) {
    for object in &definitions.objects {
        let Body::MaterializedView(view) = &object.body else { continue };
        let target = view.target.as_deref().unwrap_or("");
        let is_it = |other: &Object| {
            other.entry.database == object.entry.database
                && definitions.table(other).is_some_and(|table| table.name == target)
        };
        if !definitions.objects.iter().any(is_it) {
            report.add(&object.entry.id.place, format!("it writes to `{target}`, which is no table of the manifest"));
        }
    }
}

impl Definitions {
    /// The table of an object that is one.
    #[must_use]
    pub fn table<'a>(&'a self, object: &'a Object) -> Option<&'a Table> {
        match &object.body {
            Body::Epoch(number) => self.registry.get(*number).map(|epoch| &epoch.table),
            Body::Table(plain) => Some(&plain.table),
            _ => None,
        }
    }

    /// The epoch of an object that is its table.
    #[must_use]
    pub fn epoch(&self, object: &Object) -> Option<&Epoch> {
        match object.body {
            Body::Epoch(number) => self.registry.get(number),
            _ => None,
        }
    }

    /// The name for messages before a deployment's parameters are known.
    fn object_name(&self, object: &Object) -> String {
        let source = |source: &NameSource| match source {
            NameSource::Fixed(name) => name.clone(),
            NameSource::Parameter(name) => format!("of parameter `{name}`"),
        };
        match &object.body {
            Body::Database => format!("of database key `{}`", object.entry.database.as_deref().unwrap_or("")),
            Body::Epoch(_) | Body::Table(_) => self.table(object).map_or_else(String::new, |t| format!("`{}`", t.name)),
            Body::Merge(merge) => format!("`{}`", merge.name),
            Body::View(view) | Body::MaterializedView(view) => format!("`{}`", view.name),
            Body::Role(role) => format!("`{}`", role.name),
            Body::Topic(topic) => source(&topic.name),
        }
    }
}
