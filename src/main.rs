//! The `xtcp-ingest` command.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    xtcp_ingest::cli::main(std::env::args_os())
}
