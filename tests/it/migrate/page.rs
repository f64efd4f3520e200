//! docs/adding-an-epoch.md, followed to its end.

use std::path::Path;

use super::*;
use crate::support::bench;

#[tokio::test(flavor = "multi_thread")]
async fn the_page_on_adding_an_epoch_can_be_followed_to_its_end() {
    let (database, topic) = bench("page", 1).await;
    let base = Repository::new();
    apply_schema(&database, &base.ddl());
    drop(topic);
    let repository = Repository::new();
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/adding-an-epoch.md")).expect("the page");
    let binaries = Path::new(env!("CARGO_BIN_EXE_xtcp-ingest")).parent().expect("a folder").display().to_string();
    let path = format!("{binaries}:{}", std::env::var("PATH").unwrap_or_default());
    let mut ran = 0;
    for block in page.split("```sh\n").skip(1) {
        let (commands, _) = block.split_once("```").expect("a block ends");
        for command in commands.lines().filter(|line| !line.is_empty()) {
            // What a command is expected to say by its exit code stands behind it.
            let (command, expected) = command.split_once("  # exits with ").unwrap_or((command, "0"));
            let shell = operate(&[], &database, None, None);
            let environment: Vec<_> =
                shell.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
            let mut shell = Command::new("sh");
            shell.args(["-c", command]).env_clear().envs(environment).env("PATH", &path);
            shell.current_dir(repository.path("."));
            let (code, out, err) = ended(shell);
            assert_eq!(code.to_string(), expected.trim(), "{command}\n{out}{err}");
            ran += 1;
        }
    }
    assert!(ran >= 8, "{ran} commands");
    assert_eq!(database.count("{db}.xtcp_flat_records_v3").await, 0);
}
