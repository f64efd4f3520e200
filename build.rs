//! Turns `proto/` into types and a descriptor, without a system `protoc`.

use std::{env, fs, path::PathBuf};

use protox::prost::Message;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto");
    // The tree is embedded by a macro that can't see a file appear.
    println!("cargo::rerun-if-changed=ddl");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let descriptors = protox::compile(["xtcp_flat_record.proto"], ["proto"])?;
    fs::write(out.join("xtcp_flat_record.descriptors"), descriptors.encode_to_vec())?;
    prost_build::Config::new().compile_fds(descriptors)?;
    Ok(())
}
