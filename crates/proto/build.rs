//! Generates the gRPC code from `proto/`, with a compiler written in Rust: building needs no `protoc`.

use std::{env, error::Error, fs, path::PathBuf};

/// Relative to this crate, in whose directory cargo runs the build script.
const PROTO_ROOT: &str = "../../proto";

/// Imports of these files are compiled too.
const FILES: [&str; 2] = ["vmafx/controller/v1/controller.proto", "vmafx/v1/vmafx.proto"];

/// Messages that carry a session's secret. Their `Debug` is written by hand in `src/redact.rs`.
const SECRET: [&str; 5] = [
    ".vmafx.controller.v1.RegisterNodeResponse",
    ".vmafx.controller.v1.HeartbeatRequest",
    ".vmafx.controller.v1.PullWorkRequest",
    ".vmafx.controller.v1.ReportResultRequest",
    ".vmafx.controller.v1.ReleaseJobRequest",
];

fn main() -> Result<(), Box<dyn Error>> {
    // A directory here means every file below it, so that a new file or a new import needs no change.
    println!("cargo::rerun-if-changed={PROTO_ROOT}");

    let mut compiler = protox::Compiler::new([PROTO_ROOT])?;
    compiler.include_imports(true).open_files(FILES)?;

    // The descriptors for reflection have no comments, which would be most of their bytes. The generator gets the
    // comments, because they become the documentation of the types.
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    fs::write(out.join("vmafx_descriptor.bin"), compiler.encode_file_descriptor_set())?;
    compiler.include_source_info(true);

    tonic_prost_build::configure()
        // Sorted maps: the same message always has the same bytes and prints in the same order.
        .btree_map(".")
        // Frames are shared with the receive buffer instead of being copied out of it.
        .bytes(".vmafx.v1.FramePair")
        .skip_debug(SECRET)
        .compile_fds(compiler.file_descriptor_set())?;
    Ok(())
}
