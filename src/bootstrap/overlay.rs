//! A deployment's own tree of further objects. What is wrong with it is told, and never hurts the rest.

use std::{collections::HashSet, path::Path};

use tracing::{error, info};

use super::{
    definitions::{self, Definitions, Object},
    manifest::{self, DatabaseKey, Entry, Manifest},
    parameters,
};
use crate::tree::{Report, Tree};

/// Directories of the core: nothing of an overlay is defined below one of them.
pub(super) const CORE: &[&str] = &["epochs", "tables", "merge", "views", "topics", "roles"];

impl Definitions {
    /// The definitions with those of an overlay behind them. One that isn't there, or has no manifest, adds nothing.
    #[must_use]
    pub fn with_overlay(self, directory: &Path) -> Self {
        if is_none(directory) {
            info!(directory = %directory.display(), "no overlay: there is no {} in it", manifest::FILE);
            return self;
        }
        match Tree::from_dir(directory) {
            Ok(tree) => self.overlaid(&tree),
            Err(error) => self.refusing(vec![error.to_string()]),
        }
    }

    /// The definitions with those of an overlay's tree behind them.
    #[must_use]
    pub fn overlaid(self, tree: &Tree) -> Self {
        let mut report = Report::default();
        let read = manifest::read(tree, &mut report);
        let manifest = match report.finish(read) {
            Ok(manifest) => manifest,
            Err(refused) => return self.refusing(refused.problems().iter().map(ToString::to_string).collect()),
        };
        let (entries, refusals) = self.admitted(&manifest);
        let mut report = Report::default();
        parameters::check(&manifest, &mut report);
        let merged = self.merge(tree, manifest, &entries, &mut report);
        match report.finish(merged) {
            Ok(merged) => merged.refusing(refusals),
            Err(refused) => {
                let problems = refused.problems().iter().map(ToString::to_string);
                self.refusing(refusals.into_iter().chain(problems).collect())
            }
        }
    }

    fn refusing(mut self, refusals: Vec<String>) -> Self {
        for refusal in &refusals {
            error!("overlay: {refusal}");
        }
        self.overlay_refused.extend(refusals);
        self
    }

    /// The objects that may be added, and why others may not. What stands on one that is refused is refused as well.
    fn admitted(&self, manifest: &Manifest) -> (Vec<Entry>, Vec<String>) {
        let (mut entries, mut refusals) = (Vec::new(), Vec::new());
        let mut refused: HashSet<&str> = HashSet::new();
        for entry in &manifest.objects {
            let id = entry.id.value.as_str();
            let path = entry.defines.as_ref().map_or("", |path| path.value.as_str());
            let core =
                CORE.iter().find(|core| path.strip_prefix(**core).is_some_and(|r| r.is_empty() || r.starts_with('/')));
            let needs = entry.depends_on.iter().find(|id| refused.contains(id.as_str()));
            let why = match (core, needs) {
                (Some(core), _) => format!("`{path}` lies under `{core}`, which is the core's; define it elsewhere"),
                _ if self.objects.iter().any(|o| o.entry.id.value == id) => {
                    "the core has an object of this id".to_owned()
                }
                (_, Some(needs)) => format!("it depends on `{needs}`, which is refused"),
                _ => {
                    entries.push(entry.clone());
                    continue;
                }
            };
            refused.insert(id);
            refusals.push(format!("{id}: {why}"));
        }
        (entries, refusals)
    }

    /// The core with the objects of the overlay behind it; every problem is reported.
    fn merge(&self, tree: &Tree, overlay: Manifest, entries: &[Entry], report: &mut Report) -> Option<Self> {
        let mut merged = self.clone();
        for parameter in &overlay.parameters {
            match self.manifest.parameters.iter().find(|p| p.name.value == parameter.name.value) {
                Some(core) if core.setting.value == parameter.setting.value => {}
                Some(core) => {
                    let text = format!("the core has a parameter of this name, of setting `{}`", core.setting.value);
                    report.add(&parameter.name.place, text);
                }
                None => merged.manifest.parameters.push(parameter.clone()),
            }
        }
        for database in &overlay.databases {
            match self.manifest.databases.iter().find(|d| d.key == database.key) {
                Some(core) if core.name == database.name => {}
                Some(_) => self.clash(database, entries, report),
                None => merged.manifest.databases.push(database.clone()),
            }
        }
        for entry in entries {
            let file = entry.file().and_then(|path| tree.get(&path));
            let body = definitions::body(entry, file, &merged.manifest, report);
            merged.objects.extend(body.map(|body| Object { entry: entry.clone(), body, is_overlay: true }));
        }
        definitions::check_names(&merged, report);
        definitions::check_parameters(&merged, report);
        definitions::check_targets(&merged, report);
        Some(merged)
    }

    fn clash(&self, database: &DatabaseKey, entries: &[Entry], report: &mut Report) {
        for entry in entries.iter().filter(|entry| entry.database.as_ref() == Some(&database.key)) {
            let text = format!("database key `{}` is the core's, for another database", database.key);
            report.add(&entry.id.place, text);
        }
    }
}

/// Whether there is no overlay. A directory that can't be looked into is not the same as none, nor is a file in its place.
fn is_none(directory: &Path) -> bool {
    directory.join(manifest::FILE).try_exists().is_ok_and(|is_there| !is_there)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::{Parameters, Platform};

    const MANIFEST: &str = "\
manifest_version: 1
release: site-1
parameters:
  data_database: { description: d, setting: XTCP_INGEST_CLICKHOUSE_DATABASE, default: xtcp }
databases:
  - { key: data, parameter: data_database }
objects:
  - { id: site.a, kind: table, database: data, defines: site/a, topology: resolved, additive: true }
";
    const TABLE: &str =
        "table: { name: site_a, engine: MergeTree, order_by: [x] }\ncolumns:\n  - { name: x, type: UInt8 }\n";

    fn overlaid(manifest: &str, files: &[(&str, &str)]) -> Definitions {
        let tree = Tree::from_files("overlay", [("manifest.yaml", manifest)].into_iter().chain(files.iter().copied()));
        Definitions::embedded().expect("sound").overlaid(&tree)
    }

    fn is_core_alone(definitions: &Definitions) -> bool {
        let core = Definitions::embedded().expect("sound");
        let sql = |d: &Definitions| d.statements(&Parameters::supplied(&d.manifest, |_| None), Platform::Single);
        sql(&core) == sql(definitions)
    }

    #[test]
    fn further_objects_come_after_the_core() {
        let definitions = overlaid(MANIFEST, &[("site/a.yaml", TABLE)]);
        assert_eq!(definitions.overlay_refused, [""; 0]);
        let last = definitions.objects.last().expect("objects");
        assert!(last.entry.id.value == "site.a" && last.is_overlay);
        assert_eq!(definitions.manifest.release, Definitions::embedded().expect("sound").manifest.release);
    }

    #[test]
    fn the_directories_of_the_core_are_refused_by_name_and_the_rest_is_taken() {
        for core in CORE {
            let path = format!("{core}/a");
            let manifest = MANIFEST.to_owned()
                + &format!(
                    "  - {{ id: b, kind: table, database: data, defines: {path}, topology: resolved, additive: true }}\n"
                )
                + "  - { id: c, kind: table, database: data, defines: site/c, depends_on: [b], topology: resolved, additive: true }\n";
            let other = TABLE.replace("site_a", "site_b");
            let definitions = overlaid(
                &manifest,
                &[("site/a.yaml", TABLE), (&format!("{path}.yaml"), &other), ("site/c.yaml", &other)],
            );
            assert_eq!(
                definitions.overlay_refused,
                [
                    format!("b: `{path}` lies under `{core}`, which is the core's; define it elsewhere"),
                    "c: it depends on `b`, which is refused".to_owned()
                ]
            );
            assert!(definitions.objects.iter().any(|o| o.entry.id.value == "site.a"));
        }
    }

    #[test]
    fn an_unusable_overlay_leaves_the_core_as_it_is() {
        let file = [("site/a.yaml", TABLE)];
        for (what, definitions, expected) in [
            ("no YAML", overlaid("objects: [", &[]), "overlay/manifest.yaml:"),
            ("another version", overlaid(&MANIFEST.replace("version: 1", "version: 2"), &file), "manifest_version 1"),
            ("no file", overlaid(MANIFEST, &[]), "there is no file overlay/site/a.yaml"),
            ("a broken table", overlaid(MANIFEST, &[("site/a.yaml", "table: [")]), "overlay/site/a.yaml:"),
            (
                "a taken name",
                overlaid(MANIFEST, &[("site/a.yaml", &TABLE.replace("site_a", "schema_lock"))]),
                "schema_lock",
            ),
            ("a taken id", overlaid(&MANIFEST.replace("site.a", "data.flat_v0"), &file), "the core has an object"),
            (
                "a taken key",
                overlaid(&MANIFEST.replace("parameter: data_database }", "name: y }"), &file),
                "for another database",
            ),
            (
                "a view into nothing",
                overlaid(
                    &(MANIFEST.to_owned()
                        + "  - { id: v, kind: materialized_view, database: data, defines: site/v, topology: resolved, additive: false }\n"),
                    &[
                        ("site/a.yaml", TABLE),
                        (
                            "site/v.sql",
                            "CREATE MATERIALIZED VIEW {db}.v TO {db}.site_b AS\nSELECT x FROM {db}.site_a\n",
                        ),
                    ],
                ),
                "it writes to `site_b`, which is no table of the manifest",
            ),
            (
                "a parameter of its own",
                overlaid(&MANIFEST.replace("CLICKHOUSE_DATABASE", "NOTHING"), &file),
                "no setting",
            ),
        ] {
            assert!(
                definitions.overlay_refused.join("\n").contains(expected),
                "{what}: {:?}",
                definitions.overlay_refused
            );
            assert!(is_core_alone(&definitions), "{what}");
        }
    }

    #[test]
    fn a_directory_that_is_not_there_is_no_overlay() {
        let empty = tempfile::tempdir().expect("a directory");
        for directory in [empty.path(), Path::new("/nonexistent/overlay")] {
            let definitions = Definitions::embedded().expect("sound").with_overlay(directory);
            assert_eq!(definitions.overlay_refused, [""; 0]);
            assert!(is_core_alone(&definitions));
        }
        let file = empty.path().join("file");
        std::fs::write(&file, "").expect("a file in the place of a directory");
        let definitions = Definitions::embedded().expect("sound").with_overlay(&file);
        assert!(definitions.overlay_refused[0].contains("it is no directory"), "{:?}", definitions.overlay_refused);
        assert!(is_core_alone(&definitions));
        let fault = empty.path().join("manifest.yaml");
        std::fs::create_dir(&fault).expect("a directory in the place of a file");
        let definitions = Definitions::embedded().expect("sound").with_overlay(empty.path());
        assert!(definitions.overlay_refused[0].contains("no manifest"), "{:?}", definitions.overlay_refused);
        assert!(is_core_alone(&definitions));
    }
}
