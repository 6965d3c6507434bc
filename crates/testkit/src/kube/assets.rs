//! The programs a cluster is made of: found, or built once.
//!
//! `KUBEBUILDER_ASSETS` wins for every program it holds, so that somebody who has them already builds nothing.
//! Everything else is built from Go modules that this crate pins by `go.mod` and `go.sum`, into the user's cache.
//! The cache directory's name carries the version and a digest of everything that decides the result, so a
//! change of the pins never meets a stale program, and two checkouts with the same pins share one build.

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

/// Why a program could not be had.
#[derive(Debug, thiserror::Error)]
pub enum AssetError {
    /// There is no place to keep what would be built.
    #[error("no cache directory: set VMAFX_CACHE_DIR, XDG_CACHE_HOME or HOME")]
    NoCacheDirectory,
    /// Building failed.
    #[error("{} {} could not be built", .binary.name(), .binary.version())]
    Build {
        /// What was to be built.
        binary: Binary,
        /// Why it was not.
        #[source]
        source: BuildError,
    },
}

/// Where each of the wanted programs is.
#[derive(Debug, Clone, Default)]
pub struct Assets {
    paths: BTreeMap<Binary, PathBuf>,
}

impl Assets {
    /// The path of a program that was asked for; its bare name, hence a look-up in `PATH`, for any other.
    pub fn path(&self, binary: Binary) -> &Path {
        self.paths.get(&binary).map_or(Path::new(binary.name()), PathBuf::as_path)
    }
}

/// Finds the given programs and builds those that are nowhere. Blocks: a cold build takes minutes.
pub fn ensure(binaries: &[Binary]) -> Result<Assets, AssetError> {
    let mut paths = BTreeMap::new();
    for &binary in binaries {
        let path = match locate(binary)? {
            Place::Ready(path) => path,
            Place::Missing(path) => {
                build::build(binary, &path).map_err(|source| AssetError::Build { binary, source })?;
                path
            }
        };
        paths.insert(binary, path);
    }
    Ok(Assets { paths })
}

/// Where a program is, or will be once it is built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// It is here.
    Ready(PathBuf),
    /// It would be built to here.
    Missing(PathBuf),
}

/// Looks for a program without building it.
pub fn locate(binary: Binary) -> Result<Place, AssetError> {
    if let Some(given) = env::var_os(ASSETS_VARIABLE) {
        let path = Path::new(&given).join(binary.name());
        if path.is_file() {
            return Ok(Place::Ready(path));
        }
    }
    let cache = cache().ok_or(AssetError::NoCacheDirectory)?;
    let path = cache.join("kubernetes").join(binary.cache_key()).join(binary.name());
    Ok(if path.is_file() { Place::Ready(path) } else { Place::Missing(path) })
}

/// The directory for what can be made again: ours if set, else the user's by the XDG rules.
pub fn cache() -> Option<PathBuf> {
    cache_directory(|name| env::var_os(name))
}

fn cache_directory(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    // An empty variable counts as unset, as the XDG rules say; joined it would name the working directory.
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
