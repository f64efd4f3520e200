//! The command as a shell sees it: output, errors, exit codes.

use std::{
    path::Path,
    process::{Command, Output},
};

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
fn a_command_line_that_is_not_understood_is_exit_code_64() {
    let plan = ["schema", "plan", "--jsn"];
    for arguments in [&["cnfig"][..], &["config", "check", "--wrkers", "1"], &plan, &["schema"], &[]] {
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
        (&["--mix", "e7=1", "--out", "/dev/null"], "there is no layout `e7`; known are `2/e2`"),
        (&["--hosts", "2", "--out", "/dev/null"], "2 hosts can't have 5 layouts"),
        (
            &["--kafka-framing", "confluent", "--out", "/dev/null"],
            "`--out` can't be sent with `kafka.framing = confluent`",
        ),
        (&["--envelope", "9..5"], "allowed is a number from 1 up, or a range"),
    ] {
        let output = xtcp_ingest(&[&["generate"], arguments].concat(), &[]);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(error), "{arguments:?}: {}", text(&output.stderr));
    }
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
    for (schemas, expected) in [("nowhere", "let this account read `schemas_dir`"), ("broken", "broken/manifest.yaml:")]
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
