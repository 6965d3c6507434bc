//! External programs.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::error::InputError;

/// The environment variable that names the `ffmpeg` to use.
const FFMPEG_VARIABLE: &str = "VMAFX_FFMPEG_BIN";

/// Where `ffmpeg` is, or why there is none.
#[derive(Clone, Debug)]
pub struct Tools {
    ffmpeg: Result<PathBuf, String>,
    probe_deadline: Duration,
    killer: Option<ProcessKiller>,
}

/// Kills a decoder by its process id, for a process that is not permitted to send signals itself.
#[derive(Clone)]
pub struct ProcessKiller(Arc<dyn Fn(u32) + Send + Sync>);

impl ProcessKiller {
    pub fn new(kill: impl Fn(u32) + Send + Sync + 'static) -> Self {
        Self(Arc::new(kill))
    }

    pub(super) fn kill(&self, process: u32) {
        (self.0)(process);
    }
}

impl fmt::Debug for ProcessKiller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ProcessKiller").finish_non_exhaustive()
    }
}

/// Far longer than reading the start of a file takes, also over a slow network.
const PROBE_DEADLINE: Duration = Duration::from_mins(1);

impl Tools {
    /// Searches by the values of `VMAFX_FFMPEG_BIN` and `PATH`. If the variable names a program that does not exist, no other
    /// program takes its place.
    pub fn from_env(ffmpeg_bin: Option<&OsStr>, path: Option<&OsStr>) -> Self {
        let ffmpeg = match ffmpeg_bin.filter(|name| !name.is_empty()) {
            Some(name) if name.as_encoded_bytes().contains(&b'/') => {
                runnable(Path::new(name)).ok_or_else(|| {
                    format!("{FFMPEG_VARIABLE}={} is not an executable file", Path::new(name).display())
                })
            }
            Some(name) => in_path(name, path)
                .ok_or_else(|| format!("{FFMPEG_VARIABLE}={} is not in PATH", Path::new(name).display())),
            None => in_path(OsStr::new("ffmpeg"), path)
                .ok_or_else(|| format!("there is none in PATH and {FFMPEG_VARIABLE} is not set")),
        };
        Self { ffmpeg, probe_deadline: PROBE_DEADLINE, killer: None }
    }

    #[must_use]
    pub fn with_probe_deadline(mut self, deadline: Duration) -> Self {
        self.probe_deadline = deadline;
        self
    }

    /// Has decoders killed by `killer` instead of this process.
    #[must_use]
    pub fn with_killer(mut self, killer: ProcessKiller) -> Self {
        self.killer = Some(killer);
        self
    }

    pub(super) fn killer(&self) -> Option<ProcessKiller> {
        self.killer.clone()
    }

    pub(super) fn probe_deadline(&self) -> Duration {
        self.probe_deadline
    }

    pub fn from_process_env() -> Self {
        let [ffmpeg_bin, path]: [Option<OsString>; 2] = [FFMPEG_VARIABLE, "PATH"].map(std::env::var_os);
        Self::from_env(ffmpeg_bin.as_deref(), path.as_deref())
    }

    pub fn ffmpeg(&self) -> Option<&Path> {
        self.ffmpeg.as_deref().ok()
    }

    /// The path of `ffmpeg`, or an error that says what it is needed for.
    pub(super) fn need_ffmpeg(&self, clip: &Path, purpose: &'static str) -> Result<&Path, InputError> {
        self.ffmpeg.as_deref().map_err(|missing| InputError::FfmpegMissing {
            path: clip.to_owned(),
            purpose,
            missing: missing.clone(),
        })
    }
}

/// The first program of this name in the directories of `path`.
fn in_path(name: &OsStr, path: Option<&OsStr>) -> Option<PathBuf> {
    std::env::split_paths(path?).find_map(|directory| runnable(&directory.join(name)))
}

/// The path, if it is an executable file.
fn runnable(path: &Path) -> Option<PathBuf> {
    let metadata = path.metadata().ok()?;
    (metadata.is_file() && metadata.permissions().mode() & 0o111 != 0).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A directory with two programs and a file that is not executable.
    fn directory() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (name, mode) in [("ffmpeg", 0o755), ("ffmpeg-8", 0o755), ("notes", 0o644)] {
            let path = directory.path().join(name);
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        directory
    }

    #[test]
    fn finds_ffmpeg_in_the_path() {
        let directory = directory();
        let path = std::env::join_paths([Path::new("/nowhere"), directory.path()]).unwrap();
        let tools = Tools::from_env(None, Some(&path));
        assert_eq!(tools.ffmpeg(), Some(directory.path().join("ffmpeg").as_path()));
    }

    #[test]
    fn the_variable_takes_precedence_as_a_path_and_as_a_name() {
        let directory = directory();
        let wanted = directory.path().join("ffmpeg-8");
        let path = Some(directory.path().as_os_str());
        assert_eq!(Tools::from_env(Some(wanted.as_os_str()), path).ffmpeg(), Some(wanted.as_path()));
        assert_eq!(Tools::from_env(Some(OsStr::new("ffmpeg-8")), path).ffmpeg(), Some(wanted.as_path()));
    }

    #[test]
    fn a_wrong_variable_is_an_error() {
        let directory = directory();
        let notes = directory.path().join("notes");
        let tools = Tools::from_env(Some(notes.as_os_str()), Some(directory.path().as_os_str()));
        let error = tools.need_ffmpeg(Path::new("a.mp4"), "to decode").unwrap_err().to_string();
        assert!(error.starts_with("ffmpeg is needed to decode a.mp4, and VMAFX_FFMPEG_BIN="), "{error}");
        assert!(error.contains("is not an executable file; install ffmpeg 5.1 or newer"), "{error}");
    }

    #[test]
    fn an_empty_variable_counts_as_unset() {
        let directory = directory();
        let tools = Tools::from_env(Some(OsStr::new("")), Some(directory.path().as_os_str()));
        assert!(tools.ffmpeg().is_some());
    }

    #[test]
    fn without_ffmpeg_the_error_says_how_to_provide_it() {
        let error = Tools::from_env(None, None).need_ffmpeg(Path::new("a.mp4"), "to decode").unwrap_err();
        assert_eq!(
            error.to_string(),
            "ffmpeg is needed to decode a.mp4, and there is none in PATH and VMAFX_FFMPEG_BIN is not set; install \
             ffmpeg 5.1 or newer, or set VMAFX_FFMPEG_BIN to its path"
        );
    }
}
