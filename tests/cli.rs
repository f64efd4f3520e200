//! The command as a shell sees it: output, errors, exit codes.

use std::{
    path::Path,
    process::{Command, Output},
};

mod repository;

use repository::Repository;

/// The command in an environment that holds nothing but what a test gives it.
fn xtcp_ingest(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtcp-ingest"))
        .args(arguments)
        .env_clear()
        .envs(environment.iter().copied())
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .output()
        .expect("the command starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("UTF-8")
}

#[test]
fn a_good_configuration_is_printed_on_standard_output_alone() {
    let output = xtcp_ingest(&["config", "check", "--workers", "3"], &[("XTCP_INGEST_CLICKHOUSE_PASSWORD", "hunter2")]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stderr), "");
    let printed = text(&output.stdout);
    assert!(printed.contains("workers = 3") && printed.contains("# --workers"), "{printed}");
    assert!(printed.contains("password = \"***\"") && !printed.contains("hunter2"), "{printed}");
}

#[test]
fn the_configuration_is_there_for_programs_too() {
    let output = xtcp_ingest(&["config", "check", "--json"], &[("XTCP_INGEST_BATCH_ROWS", "7")]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["batch.rows"], serde_json::json!({"value": 7, "source": "XTCP_INGEST_BATCH_ROWS"}));
}

#[test]
fn a_bad_configuration_is_one_error_with_a_hint_and_exit_code_2() {
    let environment = [("XTCP_INGEST_BATCH_ROW", "7"), ("XTCP_INGEST_WORKERS", "0")];
    let output = xtcp_ingest(&["config", "check", "--log", "info"], &environment);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stdout), "");
    assert_eq!(
        text(&output.stderr),
        "error: 2 problems in the configuration\n  \
         environment variable `XTCP_INGEST_BATCH_ROW` is no setting; the nearest is `XTCP_INGEST_BATCH_ROWS`\n  \
         XTCP_INGEST_WORKERS: `workers` can't be `0`; allowed is a whole number from 1 to 256\n\n\
         hint: docs/configuration.md lists every setting with what is allowed\n"
    );
}

#[test]
fn a_property_that_librdkafka_does_not_take_is_a_bad_configuration_and_never_shown() {
    for (property, why) in [
        ("sasl.pasword=hunter2", "librdkafka has no property of that name"),
        ("sasl.oauthbearer.client.secret=hunter2", "it is not supported in this build"),
        ("security.protocol=hunter2", "librdkafka doesn't take its value"),
    ] {
        let name = property.split('=').next().expect("a name");
        for (command, code) in [(&["config", "check"][..], 2), (&["run"], 2), (&["schema", "plan"], 1)] {
            let output = xtcp_ingest(&[command, &["--kafka-property", property]].concat(), &[]);
            let said = text(&output.stderr);
            assert_eq!((output.status.code(), text(&output.stdout)), (Some(code), ""), "{command:?}: {said}");
            let expected = format!("--kafka-property: `kafka.properties` can't have `{name}`: {why}");
            assert!(said.contains(&expected) && !said.contains("hunter2"), "{said}");
        }
    }
}

#[test]
fn a_command_line_that_is_not_understood_is_exit_code_64() {
    let plan = ["schema", "plan", "--jsn"];
    // Where 2 says something of the work, a value that can't be read is no such thing.
    let values: [&[&str]; 6] = [
        &["migrate", "adopt", "--settle", "x"],
        &["migrate", "adopt", "--verify", "--settle", "-1"],
        &["migrate", "new", "--epoch", "x", "new.proto"],
        &["migrate", "new", "--epoch", "4294967296", "new.proto"],
        &["migrate", "diff", "--rename", "tag", "new.proto"],
        &["migrate", "replay", "--reason", "nonsense"],
    ];
    let others: [&[&str]; 5] = [&["cnfig"], &["config", "check", "--wrkers", "1"], &plan, &["schema"], &[]];
    for arguments in values.into_iter().chain(others) {
        let output = xtcp_ingest(arguments, &[]);
        assert_eq!(output.status.code(), Some(64), "{arguments:?}");
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
        assert!(!output.stderr.is_empty(), "{arguments:?}");
    }
}

#[test]
fn help_and_version_go_to_standard_output() {
    for arguments in [&["--help"][..], &["--version"], &["config", "check", "--help"]] {
        let output = xtcp_ingest(arguments, &[]);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(!output.stdout.is_empty() && output.stderr.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_generated_file_is_what_inspect_finds_in_it() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("records.bin");
    let path = path.to_str().expect("a text");
    let arguments = ["generate", "--rows", "300", "--faults", "all=2", "--oddities", "all=2", "--json", "--out", path];
    let output = xtcp_ingest(&arguments, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
    let sent: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");

    let output = xtcp_ingest(&["inspect", "--json", path], &[]);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let count = |list: &str, key: &str| {
        let mut counts = std::collections::BTreeMap::new();
        for entry in found[list].as_array().expect("a list") {
            *counts.entry(entry[key].as_str().expect("a text").to_owned()).or_insert(0) += 1;
        }
        serde_json::json!(counts)
    };
    assert_eq!(count("rows", "table"), sent["rows"]);
    assert_eq!(count("errors", "reason"), sent["diverted"]);
    assert_eq!(std::fs::metadata(path).expect("a file").len(), sent["bytes"].as_u64().expect("a count"));
}

#[test]
fn the_same_arguments_generate_the_same_file() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let file = |name: &str, seed: &str| {
        let path = folder.path().join(name);
        let now = "2026-09-01T12:00:00Z";
        let out = path.to_str().expect("a text");
        let output = xtcp_ingest(&["generate", "--rows", "200", "--now", now, "--seed", seed, "--out", out], &[]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        std::fs::read(&path).expect("a file")
    };
    assert!(file("a", "7") == file("b", "7"));
    assert!(file("c", "8") != file("d", "7"));
}

#[test]
fn what_can_not_be_generated_is_refused() {
    for (arguments, error) in [
        (&["--faults", "framing=1", "--out", "/dev/null"][..], "`frame_past_message` can't be sent into a file"),
        (&["--faults", "nonsense=1"], "there is no fault `nonsense`; known are `truncated`"),
        (&["--mix", "nothing=1", "--out", "/dev/null"], "there is no layout `nothing`; known are `"),
        (&["--hosts", "2", "--out", "/dev/null"], "2 hosts can't have "),
        (
            &["--kafka-framing", "confluent", "--out", "/dev/null"],
            "`--out` can't be sent with `kafka.framing = confluent`",
        ),
        (&["--envelope", "9..5"], "allowed is a number from 1 to 4294967295, or a range"),
        (&["--envelope", "1..99999999999"], "allowed is a number from 1 to 4294967295, or a range"),
        (&["--mix", "", "--out", "/dev/null"], "a mix can't be empty; allowed is at least one `LAYOUT=SHARE`"),
        (&["--mix", ",", "--out", "/dev/null"], "a mix can't be empty"),
        (
            &["--faults", "truncated=18446744073709551615,truncated=1", "--out", "/dev/null"],
            "faults and oddities can't be 18446744073709551615; allowed are up to 10000000",
        ),
        (&["--oddities", "all=9999999", "--out", "/dev/null"], "allowed are up to 10000000"),
        (&["--hosts", "4294967295", "--out", "/dev/null"], "hosts can't be 4294967295; allowed are up to 65536"),
        (&["--now", "2300-01-01T00:00:00Z"], "'2300-01-01T00:00:00Z' for '--now <TIME>': allowed is 1970-01-02T00"),
        (&["--now", "1960-01-01T00:00:00Z"], "allowed is 1970-01-02T00:00:00Z to 2262-04-11T00:00:00Z"),
        (
            &["--now", "1970-01-02T00:10:00Z", "--span", "601", "--out", "/dev/null"],
            "a span can't be 601 s; allowed are up to 600 ",
        ),
        (&["--span", "18446744073709551615", "--out", "/dev/null"], "a span can't be 18446744073709551615 s; allowed"),
    ] {
        let output = xtcp_ingest(&[&["generate"], arguments].concat(), &[]);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(error), "{arguments:?}: {}", text(&output.stderr));
    }
    for list in ["", ","] {
        let output = xtcp_ingest(&["bench", "--mix", list], &[]);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""), "{list}");
        assert!(text(&output.stderr).contains("a mix can't be empty"), "{}", text(&output.stderr));
    }
    let output = xtcp_ingest(&["bench", "--rows", "0"], &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("'0' for '--rows <N>'"), "{}", text(&output.stderr));
    let output = xtcp_ingest(&["generate", "--out", "/nowhere/x"], &[]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr), "error: can't write `/nowhere/x`: No such file or directory (os error 2)\n");
}

#[test]
fn definitions_that_can_not_be_read_are_a_bad_configuration() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = |name: &str| folder.path().join(name).to_str().expect("a text").to_owned();
    std::fs::create_dir(path("broken")).expect("a folder");
    std::fs::write(path("broken/manifest.yaml"), "objects: [").expect("written");
    for (schemas, expected) in
        [("nowhere", "nowhere: there is no such directory\n"), ("broken", "broken/manifest.yaml:")]
    {
        let output = xtcp_ingest(&["config", "check", "--schemas-dir", &path(schemas)], &[]);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""), "{schemas}");
        assert!(text(&output.stderr).contains(expected), "{}", text(&output.stderr));
    }
    // An overlay never hurts the rest, and yet it is told.
    let output = xtcp_ingest(&["config", "check", "--overlay-dir", &path("broken")], &[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("broken/manifest.yaml:"), "{}", text(&output.stderr));
}

/// A record that is no xtcp2 record, in the shape of flow exporters' messages.
const FLOW: &str = "\
syntax = \"proto3\";
package flow.pb;
import \"google/protobuf/timestamp.proto\";
option go_package = \"example/flow;pb\";

enum Kind { KIND_UNSPECIFIED = 0; KIND_SFLOW = 1; KIND_NETFLOW_V9 = 2; }

message Flow {
  Kind kind = 1;
  uint64 time_received_ns = 110;
  uint32 sequence_num = 4;
  bytes sampler_address = 11 [json_name = \"samplerAddress\"];
  uint64 bytes = 9;
  uint32 as_path_length = 50 [deprecated = true];
}

service Flows { rpc Send(Flow) returns (Flow); }
";

#[test]
fn a_diff_says_by_its_exit_code_what_is_to_be_done() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = |name: &str| folder.path().join(name).to_str().expect("a text").to_owned();
    let repository = Repository::new();
    let ddl = repository.root.path().join("ddl").display().to_string();
    let newest =
        std::fs::read_to_string(repository.root.path().join("proto/xtcp_flat_record.proto")).expect("a .proto");
    let with = |from: &str, to: &str| {
        assert_eq!(newest.matches(from).count(), 1, "{from}");
        newest.replace(from, to)
    };
    for (changed, code, said) in [
        (newest.clone(), 0, "compared with epoch 2: nothing to do\n"),
        (with("  string tag = 51;\n", "  string tag = 51;\n  string boot = 52;\n"), 2, "additive added "),
        (with("string tag = 51", "string tags = 51"), 3, "to say so: --rename tag=tags\n"),
        (with("string tag = 51", "uint32 tags = 51"), 1, "takes the number of string tag = 51"),
    ] {
        std::fs::write(path("new.proto"), changed).expect("written");
        let output = xtcp_ingest(&["migrate", "diff", "--dir", &ddl, &path("new.proto")], &[]);
        assert_eq!(output.status.code(), Some(code), "{}{}", text(&output.stdout), text(&output.stderr));
        assert!(text(&output.stdout).contains(said), "{}", text(&output.stdout));
    }
    let output = xtcp_ingest(&["migrate", "diff", "--dir", &ddl, "--json", &path("new.proto")], &[]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["verdict"], "refused");
    let reused = json["differences"].as_array().expect("a list").iter().find(|d| d["class"] == "number_reused");
    assert!(reused.is_some_and(|d| d["line"].as_u64() > Some(40) && d["column"] == 3), "{json}");

    std::fs::write(path("bad.proto"), "syntax = \"proto3\";\nmessage {\n").expect("written");
    let output = xtcp_ingest(&["migrate", "diff", &path("bad.proto")], &[]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""));
    assert!(text(&output.stderr).contains("bad.proto:2:9: "), "{}", text(&output.stderr));
    assert_eq!(xtcp_ingest(&["migrate", "diff", "--nonsense"], &[]).status.code(), Some(64));
}

#[test]
fn records_of_other_projects_are_compared_as_well() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = |name: &str| folder.path().join(name).to_str().expect("a text").to_owned();
    std::fs::write(path("old.proto"), FLOW).expect("written");
    let diff = |changed: &str| {
        std::fs::write(path("new.proto"), changed).expect("written");
        let (old, new) = (path("old.proto"), path("new.proto"));
        let output = xtcp_ingest(&["migrate", "diff", "--message", "flow.pb.Flow", "--from", &old, &new], &[]);
        (output.status.code(), text(&output.stdout).to_owned() + text(&output.stderr))
    };
    assert_eq!(diff(FLOW).0, Some(0));
    let (code, said) = diff(&FLOW.replace("uint32 sequence_num", "uint64 sequence_num"));
    assert!(code == Some(3) && said.contains("bump     widened"), "{code:?} {said}");
    let (code, said) = diff(&FLOW.replace("uint64 bytes = 9;", "uint64 bytes = 9;\n  uint32 mpls_label = 2000;"));
    assert!(code == Some(2) && said.contains("additive added"), "no kernel source is asked for: {code:?} {said}");
    // What is common elsewhere and no row can hold is refused, each with its place.
    let nested = FLOW.replace(
        "uint64 bytes = 9;",
        "google.protobuf.Timestamp at = 60;\n  map<string, string> tags = 61;\n  repeated uint32 as_path = 62;\n  \
         oneof key { string name = 63; bytes id = 64; }\n  enum Inner { INNER_A = 0; }",
    );
    let (code, said) = diff(&nested);
    assert_eq!(code, Some(1), "{said}");
    for part in
        ["new.proto:13:3: field `at` is a message", ":14:3: map field `tags`", "oneof `key`", "nested enum `Inner`"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    let (code, said) = diff(&FLOW.replace("uint64 bytes = 9;", "uint64 bytes = 9;\n  repeated uint32 as_path = 62;"));
    assert!(code == Some(1) && said.contains("refused  repeated"), "{code:?} {said}");
}

#[test]
fn what_new_refuses_is_not_written() {
    let repository = Repository::new();
    let path = |name: &str| repository.root.path().join(name).to_str().expect("a text").to_owned();
    let newest = std::fs::read_to_string(path("proto/xtcp_flat_record.proto")).expect("the .proto");
    std::fs::write(path("new.proto"), newest.replace("string tag = 51", "string tags = 51")).expect("written");
    let new = |arguments: &[&str]| {
        let (ddl, new) = (path("ddl"), path("new.proto"));
        let output = xtcp_ingest(&[&["migrate", "new", "--dir", &ddl, &new], arguments].concat(), &[]);
        (output.status.code(), text(&output.stdout).to_owned() + text(&output.stderr))
    };
    let (code, said) = new(&[]);
    assert!(code == Some(1) && said.contains("--rename tag=tags") && said.contains("hint: confirm each"), "{said}");
    let (code, said) = new(&["--epoch", "2", "--rename", "tag=tags"]);
    assert!(code == Some(1) && said.contains("epoch 2 is in use already"), "{said}");
    assert!(!Path::new(&path("migrations")).exists() && !Path::new(&path("ddl/epochs/v3.yaml")).exists());
    std::os::unix::fs::symlink("/nonexistent/folder", path("migrations")).expect("a link");
    let (code, said) = new(&["--rename", "tag=tags"]);
    assert!(code == Some(1) && said.contains("all files are as they were: "), "{said}");
    assert_eq!(said.matches("os error").count(), 1, "the cause is said once: {said}");
    assert!(!Path::new(&path("ddl/epochs/v3.yaml")).exists());
    std::fs::remove_file(path("migrations")).expect("removed");
    let (code, said) = new(&["--rename", "tag=tags"]);
    assert!(code == Some(0) && said.contains("wrote ") && said.contains("epoch 3 is defined"), "{said}");
    let (code, said) = new(&["--rename", "tag=tags"]);
    assert!(code == Some(0) && said == "epoch 3 says what the .proto says: nothing to do\n", "{said}");
}

/// What programs read of `bench --json`, on messages as they come.
#[test]
fn bench_measures_whatever_a_file_holds() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("messages");
    let path = path.to_str().expect("a text");
    let generated = |arguments: &[&str]| {
        let output = xtcp_ingest(&[&["generate", "--rows", "600", "--out", path], arguments].concat(), &[]);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    };
    let measured = || {
        let measure = ["bench", path, "--json", "--seconds", "0.1", "--workers", "1", "--batch-bytes", "1MiB"];
        let output = xtcp_ingest(&measure, &[]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let stages = report["stages"].as_array().expect("stages").clone();
        for figure in stages
            .iter()
            .flat_map(|stage| [&stage["rows_per_second"], &stage["bytes_per_second"], &stage["ns_per_row"]])
        {
            assert!(figure.as_f64().is_some_and(|figure| figure > 0.0), "{report}");
        }
        assert_eq!(report["all_cores"]["threads"], 1);
        let names: Vec<_> = stages.iter().map(|stage| stage["name"].as_str().expect("a name").to_owned()).collect();
        (report, names.join(" "), text(&output.stderr).contains("are diverted, so that is what is measured"))
    };
    const ALL: &str = "decode_route_encode compress prost_decode";
    for arguments in [
        &["--mix", "e2=1", "--envelope", "1"][..],
        &["--mix", "e2=60,legacy=40", "--envelope", "7"],
        &["--faults", "all=1", "--oddities", "all=1", "--envelope", "20"],
    ] {
        generated(arguments);
        let (report, names, warns) = measured();
        assert_eq!((names.as_str(), warns), (ALL, false), "{arguments:?}");
        assert!(report["ratio_to_prost"].as_f64().is_some_and(|ratio| ratio > 0.0), "{report}");
        let faults = arguments.contains(&"--faults");
        assert_eq!(report["diverted"].as_u64().is_some_and(|diverted| diverted > 0), faults, "{report}");
        assert_eq!(
            report["rows"].as_u64().zip(report["diverted"].as_u64()).map(|(rows, diverted)| rows - diverted),
            Some(600)
        );
    }
    // No frames at all: all of it is diverted, and said to be.
    std::fs::write(path, [0xff; 100]).expect("written");
    let (report, names, warns) = measured();
    assert_eq!((names.as_str(), warns), ("decode_route_encode compress", true));
    assert_eq!(
        (&report["rows"], &report["diverted"], &report["ratio_to_prost"]),
        (&1.into(), &1.into(), &serde_json::Value::Null)
    );
    for nothing in [&[][..], &[0, 0, 0]] {
        std::fs::write(path, nothing).expect("written");
        let output = xtcp_ingest(&["bench", path], &[]);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("there is nothing to measure"), "{}", text(&output.stderr));
    }
}
