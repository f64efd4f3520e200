//! The manifest: which objects there are, in which order, and what a deployment decides about them.

use std::collections::HashSet;

use crate::tree::{At, Fields, File, Node, Place, Report, Tree, Value};

/// The file of a tree that lists everything.
pub const FILE: &str = "manifest.yaml";

const VERSION: i128 = 1;

/// The validated manifest.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// The release of the definitions as a whole.
    pub release: String,
    /// What a deployment decides.
    pub parameters: Vec<Parameter>,
    /// The databases by key.
    pub databases: Vec<DatabaseKey>,
    /// The objects, each after those that it depends on.
    pub objects: Vec<Entry>,
}

/// Something that a deployment decides.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// The name that definitions use.
    pub name: At<String>,
    /// What it is.
    pub description: String,
    /// The setting that supplies it.
    pub setting: At<String>,
    /// The value without that setting.
    pub default: String,
}

/// A database that objects name by its key.
#[derive(Debug, Clone)]
pub struct DatabaseKey {
    /// The key.
    pub key: String,
    /// Where its name comes from.
    pub name: NameSource,
}

/// Where a name comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameSource {
    /// A parameter's value.
    Parameter(String),
    /// It is the same everywhere.
    Fixed(String),
}

impl NameSource {
    /// Reads `name` or `parameter`, of which one has to be there.
    pub(super) fn read(fields: &mut Fields<'_>, parameters: &[Parameter], report: &mut Report) -> Option<Self> {
        let (name, parameter) = (fields.optional_text("name", report), fields.optional_text("parameter", report));
        match (name, parameter) {
            (Some(name), None) => Some(Self::Fixed(name.value)),
            (None, Some(parameter)) => {
                if !parameters.iter().any(|p| p.name.value == parameter.value) {
                    let known: Vec<&str> = parameters.iter().map(|p| p.name.value.as_str()).collect();
                    let text = format!("no parameter `{}`; declared: {}", parameter.value, known.join(", "));
                    report.add(&parameter.place, text);
                }
                Some(Self::Parameter(parameter.value))
            }
            _ => {
                report.add(fields.place(), "either `name` or `parameter` has to be there");
                None
            }
        }
    }
}

/// What an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names say it
pub enum Kind {
    Database,
    Table,
    Merge,
    View,
    MaterializedView,
    Role,
    Topic,
}

/// One object as the manifest lists it.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its id, unique.
    pub id: At<String>,
    /// What it is.
    pub kind: Kind,
    /// The version of its definition: a published one is never altered, it gets a successor.
    pub version: u32,
    /// The key of its database; topics have none.
    pub database: Option<String>,
    /// The path of its definition without a suffix; databases have none.
    pub defines: Option<At<String>>,
    /// Ids of objects further up.
    pub depends_on: Vec<String>,
    /// Whether it is rendered for the server's platform.
    pub resolved: bool,
    /// Whether a live object may gain what its definition gains.
    pub additive: bool,
    /// Whether a pass goes well without it.
    pub optional: bool,
}

impl Kind {
    /// Every kind, in the order of the documentation.
    pub const ALL: [Self; 7] =
        [Self::Database, Self::Table, Self::Merge, Self::View, Self::MaterializedView, Self::Role, Self::Topic];

    /// The name in the manifest.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Database => "database",
            Self::Table => "table",
            Self::Merge => "merge",
            Self::View => "view",
            Self::MaterializedView => "materialized_view",
            Self::Role => "role",
            Self::Topic => "topic",
        }
    }

    /// The suffix of its definition files.
    #[must_use]
    pub const fn suffix(self) -> &'static str {
        if matches!(self, Self::View | Self::MaterializedView | Self::Role) { ".sql" } else { ".yaml" }
    }
}

impl Entry {
    /// The path of its definition file in the tree; databases have none.
    #[must_use]
    pub fn file(&self) -> Option<String> {
        self.defines.as_ref().map(|path| format!("{}{}", path.value, self.kind.suffix()))
    }
}

/// Reads the manifest of a tree; every problem is reported.
pub(super) fn read(tree: &Tree, report: &mut Report) -> Option<Manifest> {
    let Some(file) = tree.get(FILE) else {
        let place = Place { file: tree.name(FILE), line: 0, field: String::new() };
        report.add(&place, "the tree has no manifest");
        return None;
    };
    let root = Node::parse(file, report)?;
    let mut fields = Fields::of(root.root(file), report)?;
    known_version(&mut fields, report)?;
    let release = fields.text("release", report).map_or_else(String::new, |release| release.value);
    let parameters = parameters(&mut fields, report);
    let databases = databases(&mut fields, &parameters, report);
    let objects = objects(&mut fields, tree, file, &databases, report);
    fields.finish(report);
    Some(Manifest { release, parameters, databases, objects })
}

/// A manifest of another version may mean anything: nothing else of it is read.
fn known_version(fields: &mut Fields<'_>, report: &mut Report) -> Option<()> {
    let version = fields.required("manifest_version", report)?;
    if version.value.value == Value::Number(VERSION) {
        return Some(());
    }
    let read = version.value.value.shown();
    report.add(&version.place, format!("read {read}; this release reads manifest_version {VERSION}"));
    None
}

fn parameters(fields: &mut Fields<'_>, report: &mut Report) -> Vec<Parameter> {
    let mut parameters = Vec::new();
    for (name, node) in fields.entries("parameters", report) {
        let Some(mut fields) = Fields::of(node, report) else { continue };
        let description = fields.text("description", report);
        let setting = fields.text("setting", report);
        let default = fields.required("default", report).and_then(|node| scalar(node, report));
        fields.finish(report);
        let (Some(description), Some(setting), Some(default)) = (description, setting, default) else { continue };
        parameters.push(Parameter { name, description: description.value, setting, default });
    }
    parameters
}

fn scalar(node: At<&Node>, report: &mut Report) -> Option<String> {
    match &node.value.value {
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => Some(node.text(report)?.value),
    }
}

fn databases(fields: &mut Fields<'_>, parameters: &[Parameter], report: &mut Report) -> Vec<DatabaseKey> {
    let mut databases: Vec<DatabaseKey> = Vec::new();
    let list = fields.list("databases", report).map(|list| list.value).unwrap_or_default();
    for node in list {
        let Some(mut fields) = Fields::of(node, report) else { continue };
        let key = fields.text("key", report);
        let name = NameSource::read(&mut fields, parameters, report);
        fields.finish(report);
        let Some(key) = key else { continue };
        if databases.iter().any(|d| d.key == key.value) {
            report.add(&key.place, format!("database key `{}` stands twice", key.value));
        }
        databases.extend(name.map(|name| DatabaseKey { key: key.value, name }));
    }
    databases
}

fn objects(
    fields: &mut Fields<'_>,
    tree: &Tree,
    file: &File,
    databases: &[DatabaseKey],
    report: &mut Report,
) -> Vec<Entry> {
    let Some(list) = fields.list("objects", report) else { return Vec::new() };
    if list.value.is_empty() {
        report.add(&list.place, format!("{} declares no objects", file.name));
    }
    let mut objects: Vec<Entry> = Vec::new();
    // Ids of entries that are refused count as declared, or each of them would bring a second problem.
    let mut declared = HashSet::new();
    for node in list.value {
        let (id, entry) = object(node, tree, databases, &declared, report);
        if let Some(id) = id
            && !declared.insert(id.value.clone())
        {
            report.add(&id.place, format!("`{}` is declared twice", id.value));
        }
        objects.extend(entry);
    }
    objects
}

fn object(
    node: At<&Node>,
    tree: &Tree,
    databases: &[DatabaseKey],
    declared: &HashSet<String>,
    report: &mut Report,
) -> (Option<At<String>>, Option<Entry>) {
    let Some(mut fields) = Fields::of(node, report) else { return (None, None) };
    let id = fields.known_by("id", "objects", report);
    let kind = fields.text("kind", report).and_then(|text| kind(&text, report));
    let version = fields.node("version").and_then(|node| version(node, report));
    let database = fields.optional_text("database", report);
    let defines = fields.optional_text("defines", report);
    let depends_on = fields.node("depends_on").and_then(|node| node.list(report)).map(|list| list.value);
    let topology = fields.text("topology", report).and_then(|text| topology(&text, report));
    let additive = fields.flag("additive", report);
    let optional = fields.node("optional").map(|node| node.flag(report));
    let place = fields.place().clone();
    fields.finish(report);
    let mut ids = Vec::new();
    for dependency in depends_on.unwrap_or_default() {
        let Some(dependency) = dependency.text(report) else { continue };
        if id.as_ref().is_some_and(|id| id.value == dependency.value) {
            report.add(&dependency.place, "depends on itself");
        } else if !declared.contains(&dependency.value) {
            report.add(&dependency.place, format!("`{}` is not declared before this object", dependency.value));
        }
        ids.push(dependency.value);
    }
    if let Some(kind) = kind {
        check_database(kind, database.as_ref(), databases, &place, report);
        check_definition(kind, defines.as_ref(), tree, &place, report);
    }
    let entry = match (id.clone(), kind, topology, additive) {
        (Some(id), Some(kind), Some(resolved), Some(additive)) => Some(Entry {
            id,
            kind,
            version: version.unwrap_or(1),
            database: database.map(|d| d.value),
            defines,
            depends_on: ids,
            resolved,
            additive: additive.value,
            optional: optional.flatten().is_some_and(|flag| flag.value),
        }),
        _ => None,
    };
    (id, entry)
}

fn version(node: At<&Node>, report: &mut Report) -> Option<u32> {
    let number = node.number::<u32>(report)?;
    if number.value == 0 {
        report.add(&number.place, "read `0`; versions are counted from 1");
    }
    Some(number.value)
}

fn kind(text: &At<String>, report: &mut Report) -> Option<Kind> {
    let kind = Kind::ALL.into_iter().find(|kind| kind.name() == text.value);
    if kind.is_none() {
        report.add(
            &text.place,
            format!("unknown kind `{}`; known: {}", text.value, Kind::ALL.map(Kind::name).join(", ")),
        );
    }
    kind
}

fn topology(text: &At<String>, report: &mut Report) -> Option<bool> {
    match text.value.as_str() {
        "resolved" => Some(true),
        "fixed" => Some(false),
        other => {
            report.add(&text.place, format!("read `{other}`; resolved and fixed are allowed"));
            None
        }
    }
}

fn check_database(kind: Kind, key: Option<&At<String>>, databases: &[DatabaseKey], place: &Place, report: &mut Report) {
    match (kind, key) {
        (Kind::Topic, Some(key)) => report.add(&key.place, "a topic is in no database"),
        (Kind::Topic, None) => {}
        (_, Some(key)) if databases.iter().any(|d| d.key == key.value) => {}
        (_, key) => {
            let known: Vec<&str> = databases.iter().map(|d| d.key.as_str()).collect();
            let read =
                key.map_or_else(|| "`database` is missing".to_owned(), |k| format!("no database key `{}`", k.value));
            report.add(key.map_or(place, |k| &k.place), format!("{read}; declared: {}", known.join(", ")));
        }
    }
}

fn check_definition(kind: Kind, defines: Option<&At<String>>, tree: &Tree, place: &Place, report: &mut Report) {
    match (kind, defines) {
        (Kind::Database, None) => {}
        (Kind::Database, Some(defines)) => report.add(&defines.place, "a database has no definition file"),
        (_, None) => report.add(place, "`defines` is missing"),
        (_, Some(defines)) => {
            let path = format!("{}{}", defines.value, kind.suffix());
            if tree.get(&path).is_none() {
                report.add(&defines.place, format!("there is no file {}", tree.name(&path)));
            }
        }
    }
}
