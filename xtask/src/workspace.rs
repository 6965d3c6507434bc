//! Where things are.

use std::path::{Path, PathBuf};

/// The root of the repository, wherever the command was started.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// A program of the release build.
pub(crate) fn release(program: &str) -> PathBuf {
    target().join("release").join(program)
}

/// A program of the build that is quick to make.
pub(crate) fn debug(program: &str) -> PathBuf {
    target().join("debug").join(program)
}

/// Where cargo builds.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root().join("target"), |directory| root().join(directory))
}
