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
fn a_wrong_command_or_flag_is_exit_code_2() {
    for arguments in [&["cnfig"][..], &["config", "check", "--wrkers", "1"], &[]] {
        let output = xtcp_ingest(arguments, &[]);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
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
