//! The programs that tests run: found, or built once.
//!
//! A program in the directory `KUBEBUILDER_ASSETS` is used as it is. Everything else is built into the user's cache,
//! from Go modules that this crate pins by `go.mod` and `go.sum`. The name of the cache directory contains the version
//! and a digest of all inputs of the build, so that changed pins never use a stale program, and two checkouts with the
//! same pins share one build.

mod build;
mod table;

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use build::BuildError;
pub use table::Binary;

/// Environment variable that names a directory with ready-made programs.
pub const ASSETS_VARIABLE: &str = "KUBEBUILDER_ASSETS";

#[derive(Debug, thiserror::Error)]
pub enum AssetError {
    #[error("no cache directory: set VMAFX_CACHE_DIR, XDG_CACHE_HOME or HOME")]
    NoCacheDirectory,
    #[error("cannot build {} {}", .binary.name(), .binary.version())]
    Build {
        binary: Binary,
        #[source]
        source: BuildError,
    },
}

/// The paths of the requested programs.
#[derive(Debug, Clone, Default)]
pub struct Assets {
    paths: BTreeMap<Binary, PathBuf>,
}

impl Assets {
    /// The path of a requested program; for any other its bare name, which is looked up in `PATH`.
    pub fn path(&self, binary: Binary) -> &Path {
        self.paths.get(&binary).map_or(Path::new(binary.name()), PathBuf::as_path)
    }
}

/// Finds the given programs and builds the missing ones. Blocks: a cold build takes minutes.
pub fn ensure(binaries: &[Binary]) -> Result<Assets, AssetError> {
    let mut paths = BTreeMap::new();
    for &binary in binaries {
        let path = match locate(binary)? {
            AssetLocation::Ready(path) => path,
            AssetLocation::Missing(path) => {
                build::build(binary, &path).map_err(|source| AssetError::Build { binary, source })?;
                path
            }
        };
        paths.insert(binary, path);
    }
    Ok(Assets { paths })
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AssetLocation {
    Ready(PathBuf),
    /// The path that a build would write.
    Missing(PathBuf),
}

/// Looks up a program without building it.
pub fn locate(binary: Binary) -> Result<AssetLocation, AssetError> {
    if let Some(given) = env::var_os(ASSETS_VARIABLE) {
        let path = Path::new(&given).join(binary.name());
        if path.is_file() {
            return Ok(AssetLocation::Ready(path));
        }
    }
    let cache = cache().ok_or(AssetError::NoCacheDirectory)?;
    let path = cache.join("kubernetes").join(binary.cache_key()).join(binary.name());
    Ok(if path.is_file() { AssetLocation::Ready(path) } else { AssetLocation::Missing(path) })
}

/// The cache directory: `VMAFX_CACHE_DIR`, else the user's by the XDG rules.
pub fn cache() -> Option<PathBuf> {
    cache_directory(|name| env::var_os(name))
}

fn cache_directory(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    // An empty variable counts as unset, as in the XDG rules; joined, it would name the working directory.
    let set = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("VMAFX_CACHE_DIR")
        .or_else(|| set("XDG_CACHE_HOME").map(|base| base.join("vmafx")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/vmafx")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(set: &[(&str, &str)]) -> Option<PathBuf> {
        cache_directory(|name| set.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn the_cache_is_ours_then_xdgs_then_under_home() {
        let all = [("VMAFX_CACHE_DIR", "/ours"), ("XDG_CACHE_HOME", "/xdg"), ("HOME", "/home/u")];
        assert_eq!(directory(&all), Some("/ours".into()));
        assert_eq!(directory(&all[1..]), Some("/xdg/vmafx".into()));
        assert_eq!(directory(&all[2..]), Some("/home/u/.cache/vmafx".into()));
        assert_eq!(directory(&[]), None);
    }

    #[test]
    fn an_empty_variable_counts_as_unset() {
        assert_eq!(
            directory(&[("VMAFX_CACHE_DIR", ""), ("HOME", "/home/u")]),
            Some("/home/u/.cache/vmafx".into())
        );
    }
}
