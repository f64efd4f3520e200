//! Epochs that nobody planned, written into a copy of the repository's definitions.

use std::{
    fs,
    path::{Path, PathBuf},
};

mod ends;
mod own;
#[path = "../../../tests/repository/mod.rs"]
mod repository;
mod shapes;

use repository::Repository;

use super::{Draft, DraftError, Request, draft, take_back, write};
use crate::{
    bootstrap::{Body, Definitions},
    migrate::{ProtoFile, Rules, Source, Verdict, declared, differences, parse_renames, verdict},
    tree::Tree,
};

impl Repository {
    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).expect(path)
    }

    /// Writes `new.proto`: the current one, edited.
    fn edit(&self, edits: &[(&str, &str)]) {
        let text = edits.iter().fold(self.read("proto/xtcp_flat_record.proto"), |text, (from, to)| {
            assert_eq!(text.matches(from).count(), 1, "{from}");
            text.replace(from, to)
        });
        fs::write(self.path("new.proto"), text).expect("written");
    }

    fn request(&self, epoch: Option<u32>, renames: &[&str]) -> Request {
        Request {
            directory: self.path("ddl"),
            epoch,
            proto: self.path("proto/xtcp_flat_record.proto"),
            migrations: self.path("migrations"),
            rules: Rules { renames: parse_renames(renames.iter().copied()).expect("renames"), is_fleet_record: true },
        }
    }

    fn draft(&self, epoch: Option<u32>, renames: &[&str]) -> Result<Draft, DraftError> {
        let path = self.path("new.proto");
        let new = read(&path);
        draft(&new, &path, &self.request(epoch, renames))
    }

    /// Drafts and writes.
    fn make(&self, epoch: Option<u32>, renames: &[&str]) -> Draft {
        take_back(&self.path("ddl")).unwrap_or_else(|error| panic!("{error}"));
        let draft = self.draft(epoch, renames).unwrap_or_else(|error| panic!("{error}"));
        write(&self.path("ddl"), &draft.writes).unwrap_or_else(|error| panic!("{error}"));
        draft
    }

    fn definitions(&self) -> Definitions {
        Definitions::open(Some(&self.path("ddl"))).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Every file with its text.
    fn everything(&self) -> Vec<(PathBuf, String)> {
        let mut found = Vec::new();
        let mut left = vec![self.root.path().to_owned()];
        while let Some(folder) = left.pop() {
            for entry in fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    left.push(path);
                } else {
                    found.push((path.clone(), fs::read_to_string(&path).expect("text")));
                }
            }
        }
        found.sort();
        found
    }
}

fn read(path: &Path) -> ProtoFile {
    let source = Source { path: path.to_owned(), includes: Vec::new(), message: declared::MESSAGE.to_owned() };
    ProtoFile::read(&source).unwrap_or_else(|error| panic!("{error}"))
}

/// Two renames, one of them of a key of the table, two renumbers, one with a rename, three additions and a removal.
const THIRD: &[(&str, &str)] = &[
    ("uint32 tcp_info_rto = 1215", "uint32 tcp_info_rto_us = 1215"),
    ("uint64 socket_fd = 61", "uint64 netlink_fd = 61"),
    ("string location = 21", "string location = 22"),
    ("uint64 inet_diag_cgroup_id = 2003", "uint64 inet_diag_cgroup = 2004"),
    ("  string label = 50;\n", ""),
    (
        "  string tag = 51;\n",
        "  string tag = 51;\n\n  // The boot of the host: changes with every start of its kernel.\n  string boot_id = 55;\n  int64 boot_ns = 56;\n",
    ),
    (
        "tcp_info_options2 = 1276; // tcp_info.tcpi_options2\n",
        "tcp_info_options2 = 1276; // tcp_info.tcpi_options2\n  uint64 tcp_info_future = 1277; // tcp_info.tcpi_future\n",
    ),
];
const THIRD_RENAMES: &[&str] =
    &["tcp_info_rto=tcp_info_rto_us", "socket_fd=netlink_fd", "inet_diag_cgroup_id=inet_diag_cgroup"];

/// On top of it: a rename of what was renamed before, a wider type, another label, an addition.
const FOURTH: &[(&str, &str)] = &[
    ("uint32 tcp_info_rto_us = 1215", "uint32 tcp_info_rto_micros = 1215"),
    ("uint32 tcp_info_lost = 1221", "uint64 tcp_info_lost = 1221"),
    ("LOCALITY_REMOTE = 3", "LOCALITY_FAR = 3"),
    ("  string tag = 51;\n", "  string tag = 51;\n  bytes key = 52;\n"),
];

fn third() -> Repository {
    let repository = Repository::new();
    repository.edit(THIRD);
    repository.make(None, THIRD_RENAMES);
    repository
}

#[test]
fn a_new_epoch_is_written_as_a_careful_person_would() {
    let repository = Repository::new();
    repository.edit(THIRD);
    let draft = repository.make(None, THIRD_RENAMES);
    assert!(draft.is_new_epoch && draft.epoch == 3);
    let file = repository.read("ddl/epochs/v3.yaml");
    for part in [
        "# Epoch 3, after epoch 2.\n",
        "  order_by: [timestamp_ns, hostname, record_counter, netlinker_id, netlink_fd]\n",
        "  name: xtcp_flat_records_v3\n",
        "  ttl: { column: timestamp_ns, days: retention_days }\n",
        // Types and codecs are taken over, comments as well.
        "  # Time of the poll: the same for all sockets of one namespace in one poll.\n  - { name: timestamp_ns, type: \
         \"DateTime64(9, 'UTC')\", codec: \"DoubleDelta, LZ4\", wire: { e3: int64 10 } }\n",
        "  - { name: netlink_fd, type: UInt64, codec: LZ4, was: socket_fd, wire: { e3: uint64 61 } }\n",
        "  - { name: location, type: LowCardinality(String), wire: { e3: string 22 } }\n",
        "  - { name: inet_diag_cgroup, type: UInt64, codec: LZ4, was: inet_diag_cgroup_id, wire: { e3: uint64 2004 } }\n",
        // What was renamed within epoch 2 has its name now.
        "  - { name: tcp_info_snd_wscale, type: UInt32, codec: LZ4, wire: { e3: uint32 1207 } }\n",
        "\n  # The boot of the host: changes with every start of its kernel.\n  - { name: boot_id, type: \
         LowCardinality(String), wire: { e3: string 55 } }\n  - { name: boot_ns, type: Int64, codec: LZ4, wire: { e3: int64 56 } }\n\n",
        "  - { name: tcp_info_future, type: UInt64, codec: LZ4, wire: { e3: uint64 1277 } }\n",
        "  - name: inet_diag_cong_enum\n    type: Enum8('' = 0, 'cubic' = 1,",
    ] {
        assert!(file.contains(part), "{part}\n---\n{file}");
    }
    assert!(!file.contains("name: label,"), "it is gone");
    let groups = |text: &str| text.lines().filter(|line| line.starts_with("  #")).count();
    assert_eq!(groups(&file), groups(&repository.read("ddl/epochs/v2.yaml")) + 1, "one group more\n{file}");

    let proto = repository.read("proto/xtcp_flat_record.proto");
    let reserved = "  // Left by epoch 3. They mean something else in older records.\n  reserved 21, 50, 2003;\n  \
                    reserved \"inet_diag_cgroup_id\", \"label\", \"socket_fd\", \"tcp_info_rto\";\n";
    assert!(proto.contains(reserved), "{proto}");
    let migration = repository.read("migrations/v3.sql");
    for part in [
        "-- epoch 3 | epoch 2 | number\n",
        "-- tcp_info_rto_us | tcp_info_rto | 1215\n",
        "-- location | location | 21 -> 22\n",
        "-- inet_diag_cgroup | inet_diag_cgroup_id | 2003 -> 2004\n",
        "-- boot_id | new | 55\n",
        "-- gone | label | 50\n",
        "CREATE TABLE `xtcp`.`xtcp_flat_records_v3`",
        "CREATE OR REPLACE TABLE `xtcp`.`xtcp_flat_records`",
        "CREATE OR REPLACE VIEW `xtcp`.xtcp_flat_records_unified",
    ] {
        assert!(migration.contains(part), "{part}\n---\n{migration}");
    }
}

#[test]
fn the_registry_follows_every_name_through_two_new_epochs() {
    let repository = third();
    repository.edit(FOURTH);
    let draft = repository.make(None, &["tcp_info_rto_us=tcp_info_rto_micros"]);
    assert!(draft.is_new_epoch && draft.epoch == 4);
    let definitions = repository.definitions();
    let registry = &definitions.registry;
    let numbers: Vec<u32> = registry.epochs().iter().map(|epoch| epoch.number).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4]);
    let names = |name: &str| -> Vec<Option<String>> {
        let at = registry.newest().column(name).expect(name);
        let history = registry.history(at);
        registry.epochs().iter().zip(history).map(|(epoch, at)| Some(epoch.columns[at?].name.clone())).collect()
    };
    let some = |names: [&str; 5]| names.map(|name| (!name.is_empty()).then(|| name.to_owned())).to_vec();
    let rto = ["tcp_info_rto", "tcp_info_rto", "tcp_info_rto", "tcp_info_rto_us", "tcp_info_rto_micros"];
    assert_eq!(names("tcp_info_rto_micros"), some(rto));
    let group = ["c_group", "c_group", "inet_diag_cgroup_id", "inet_diag_cgroup", "inet_diag_cgroup"];
    assert_eq!(names("inet_diag_cgroup"), some(group));
    assert_eq!(names("boot_id"), some(["", "", "", "boot_id", "boot_id"]));
    assert_eq!(names("key"), some(["", "", "", "", "key"]));
    let column = |name: &str| {
        let newest = registry.newest();
        newest.columns[newest.column(name).expect(name)].clone()
    };
    assert_eq!(column("tcp_info_lost").column_type.to_string(), "UInt64");
    let locality = column("enrich_socket_dest_locality").column_type.to_string();
    assert_eq!(locality, "Enum8('unspecified' = 0, 'self' = 1, 'local_subnet' = 2, 'far' = 3)");
    assert_eq!(column("key").codec.as_deref(), Some("ZSTD(1)"));
    // The whole is what the .proto says, and every object that reads all epochs waits for all of them.
    let new = read(&repository.path("proto/xtcp_flat_record.proto")).shape;
    let found =
        differences(&declared::shape(registry, new.reserved.clone()), &new, &Rules::default()).expect("no renames");
    assert_eq!(found, [], "not even a note");
    for object in definitions.objects.iter().filter(|o| matches!(o.body, Body::Merge(_) | Body::View(_))) {
        let needed: Vec<String> = (0..5).map(|number| format!("data.flat_v{number}")).collect();
        assert_eq!(object.entry.depends_on, needed, "{}", object.entry.id.value);
    }
    assert_eq!(definitions.manifest.release, "4");
}

#[test]
fn what_is_written_was_published() {
    let repository = third();
    let (tree, definitions) = (Tree::from_dir(&repository.path("ddl")).expect("a tree"), repository.definitions());
    let published = repository.read("ddl/published.txt");
    let (releases, objects) = super::publication::read(&published).expect("a list");
    assert_eq!(releases.last(), Some(&definitions.manifest.release.as_str()));
    for (id, version, sum) in super::publication::lines(&tree, &definitions) {
        assert!(objects.contains(&(id.as_str(), version, sum.as_str())), "{id} {version}");
    }
    assert!(published.starts_with(&Repository::new().read("ddl/published.txt")), "lines are added, never altered");
}

#[test]
fn the_second_time_nothing_changes() {
    let repository = third();
    let before = repository.everything();
    for epoch in [None, Some(3)] {
        let again = repository.make(epoch, THIRD_RENAMES);
        assert!(again.writes.is_empty() && again.epoch == 3, "{:?}", again.writes);
    }
    assert_eq!(repository.everything(), before);
}

#[test]
fn columns_join_the_newest_epoch() {
    let repository = Repository::new();
    let v2 = repository.read("ddl/epochs/v2.yaml");
    repository.edit(&[
        ("tcp_info_options2 = 1276; // tcp_info.tcpi_options2\n", "tcp_info_options2 = 1276; // tcp_info.tcpi_options2\n  uint64 tcp_info_future = 1277; // tcp_info.tcpi_future\n"),
        ("  string tag = 51;\n", "  string tag = 51;\n\n  // The boot.\n  string boot_id = 55;\n"),
        ("LOCALITY_REMOTE = 3;", "LOCALITY_REMOTE = 3;\n  LOCALITY_TUNNEL = 4;"),
    ]);
    let draft = repository.make(None, &[]);
    assert!(!draft.is_new_epoch && draft.epoch == 2);
    assert_eq!(verdict(&draft.differences), Verdict::Additive);
    let text = repository.read("ddl/epochs/v2.yaml");
    let future = "  - { name: tcp_info_future, type: UInt64, codec: LZ4, wire: { e2: uint64 1277 } }\n";
    let boot = "\n  # The boot.\n  - { name: boot_id, type: LowCardinality(String), wire: { e2: string 55 } }\n";
    assert!(text.contains(future) && text.contains(boot), "{text}");
    assert!(text.contains("'remote' = 3, 'tunnel' = 4)"), "{text}");
    // Nothing else is touched.
    let without = text.replace(future, "").replace(boot, "").replace(", 'tunnel' = 4", "");
    assert_eq!(without, v2);
    let definitions = repository.definitions();
    let epoch = definitions.objects.iter().find(|o| o.entry.id.value == "data.flat_v2").expect("the epoch");
    assert_eq!((epoch.entry.version, definitions.manifest.release.as_str()), (2, "3"));
    let migration = repository.read("migrations/v2.release-3.sql");
    let add = "ALTER TABLE `xtcp`.`xtcp_flat_records_v2` ADD COLUMN IF NOT EXISTS `tcp_info_future` UInt64 CODEC(LZ4);";
    assert!(
        migration.contains(add) && migration.contains("MODIFY COLUMN `enrich_socket_dest_locality`"),
        "{migration}"
    );
    let before = repository.everything();
    assert!(repository.make(None, &[]).writes.is_empty());
    assert_eq!(repository.everything(), before);
}

/// What is said, and that nothing was written.
fn refused(repository: &Repository, epoch: Option<u32>, renames: &[&str]) -> String {
    let before = repository.everything();
    let error = repository.draft(epoch, renames).map(|draft| draft.writes).expect_err("refused").to_string();
    assert_eq!(repository.everything(), before);
    error
}

#[test]
fn nothing_is_overwritten_and_nobody_s_work_is_taken_over() {
    let repository = Repository::new();
    repository.edit(THIRD);
    fs::write(repository.path("ddl/epochs/v3.yaml"), "epoch: 3\n").expect("written");
    let said = refused(&repository, None, THIRD_RENAMES);
    assert!(said.contains("v3.yaml is there already and says something else"), "{said}");
    fs::remove_file(repository.path("ddl/epochs/v3.yaml")).expect("removed");

    fs::write(repository.path("ddl/epochs/v9.yaml"), "epoch: 9\n").expect("written");
    let said = refused(&repository, None, THIRD_RENAMES);
    assert!(said.contains("no object of the manifest is defined by `epochs/v9.yaml`"), "{said}");
    fs::remove_file(repository.path("ddl/epochs/v9.yaml")).expect("removed");

    let v1 = repository.read("ddl/epochs/v1.yaml");
    fs::write(repository.path("ddl/epochs/v1.yaml"), v1.replace("blocks: 10000", "blocks: 9000")).expect("written");
    let said = refused(&repository, None, THIRD_RENAMES);
    assert!(said.contains("data.flat_v1: version 1 was published and says something else now"), "{said}");
    fs::write(repository.path("ddl/epochs/v1.yaml"), v1).expect("written");

    let proto = repository.read("proto/xtcp_flat_record.proto");
    let edited = proto.replace("string hostname = 20;", "string hostname = 20;\n  string hidden = 23;");
    fs::write(repository.path("proto/xtcp_flat_record.proto"), edited).expect("written");
    let said = refused(&repository, None, THIRD_RENAMES);
    assert!(said.contains("isn't what the newest epoch says") && said.contains("hidden"), "{said}");
    fs::write(repository.path("proto/xtcp_flat_record.proto"), proto).expect("written");
    repository.make(None, THIRD_RENAMES);
}

#[test]
fn what_is_refused_likely_or_taken_is_not_written() {
    let repository = Repository::new();
    repository.edit(THIRD);
    let said = refused(&repository, None, &[]);
    assert!(said.contains("--rename tcp_info_rto=tcp_info_rto_us") && said.contains("socket_fd=netlink_fd"), "{said}");
    let said = refused(&repository, Some(2), THIRD_RENAMES);
    assert!(said.contains("epoch 2 is in use already") && said.contains("the next is 3"), "{said}");
    assert!(refused(&repository, Some(1), THIRD_RENAMES).contains("epoch 1 is in use already"));
    repository.edit(&[("string hostname = 20", "uint64 boot = 20")]);
    let said = refused(&repository, None, &[]);
    assert!(said.contains("takes the number of string hostname = 20"), "{said}");
    repository.edit(&[("  uint64 netlinker_id = 62; // the daemon's netlink reader\n", "")]);
    let said = refused(&repository, None, &[]);
    assert!(said.contains("`netlinker_id` is gone") && said.contains("keep the field"), "{said}");
}

#[test]
fn the_proto_may_be_edited_in_its_place() {
    let repository = Repository::new();
    repository.edit(THIRD);
    let path = repository.path("proto/xtcp_flat_record.proto");
    fs::rename(repository.path("new.proto"), &path).expect("moved");
    let new = read(&path);
    let made = draft(&new, &path, &repository.request(Some(7), THIRD_RENAMES)).expect("a draft");
    write(&repository.path("ddl"), &made.writes).expect("written");
    assert!(repository.read("proto/xtcp_flat_record.proto").contains("Left by epoch 7."));
    assert_eq!(repository.definitions().registry.newest().number, 7);
    let again = draft(&read(&path), &path, &repository.request(Some(7), THIRD_RENAMES)).expect("a draft");
    assert!(again.writes.is_empty(), "{:?}", again.writes);
}

#[test]
fn after_the_last_number_there_is_no_epoch() {
    let repository = Repository::new();
    repository.edit(THIRD);
    repository.make(Some(u32::MAX), THIRD_RENAMES);
    repository.edit(FOURTH);
    let renames = &["tcp_info_rto_us=tcp_info_rto_micros"];
    let said = refused(&repository, None, renames);
    assert!(said.contains("there is none after epoch 4294967295"), "{said}");
    let said = refused(&repository, Some(7), renames);
    assert!(said.ends_with("epoch 7 is in use already, and what changed needs a new one"), "{said}");
}
