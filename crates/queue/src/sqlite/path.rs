//! The default location of the database file.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("neither XDG_STATE_HOME nor HOME is an absolute path: set the path of the database")]
pub struct NoStateDirectory;

/// `vmafx/vmafx-controller.db` in the user's state directory. Always absolute, because a relative path would name
/// another database after a start from another working directory.
pub fn default_path(
    xdg_state_home: Option<&OsStr>,
    home: Option<&OsStr>,
) -> Result<PathBuf, NoStateDirectory> {
    let absolute = |value: Option<&OsStr>| value.map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(xdg_state_home)
        .or_else(|| absolute(home).map(|home| home.join(".local/state")))
        .map(|state| state.join("vmafx/vmafx-controller.db"))
        .ok_or(NoStateDirectory)
}

/// Appends a suffix to the file name.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::state_home(Some("/s"), Some("/h"), Some("/s/vmafx/vmafx-controller.db"))]
    #[case::state_home_alone(Some("/s"), None, Some("/s/vmafx/vmafx-controller.db"))]
    #[case::home(None, Some("/h"), Some("/h/.local/state/vmafx/vmafx-controller.db"))]
    #[case::empty_is_not_set(Some(""), Some("/h"), Some("/h/.local/state/vmafx/vmafx-controller.db"))]
    #[case::relative_is_ignored(Some("state"), Some("/h"), Some("/h/.local/state/vmafx/vmafx-controller.db"))]
    #[case::relative_home(None, Some("h"), None)]
    #[case::nothing(None, None, None)]
    fn the_default_is_absolute(
        #[case] state: Option<&str>,
        #[case] home: Option<&str>,
        #[case] expected: Option<&str>,
    ) {
        let found = default_path(state.map(OsStr::new), home.map(OsStr::new));
        assert_eq!(found.ok(), expected.map(PathBuf::from));
    }
}
