//! Paths of the workspace.

use std::path::{Path, PathBuf};

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

pub(crate) fn release(program: &str) -> PathBuf {
    target().join("release").join(program)
}

pub(crate) fn debug(program: &str) -> PathBuf {
    target().join("debug").join(program)
}

pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root().join("target"), |directory| root().join(directory))
}
