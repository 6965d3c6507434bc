//! Addresses of clips on the command line.

use std::path::{Component, Path, PathBuf};

/// Makes a path absolute; returns an address unchanged.
pub(crate) fn absolute(text: &str, here: &Path) -> String {
    let path = Path::new(text);
    // `remote:path` is an rclone address. A path with a colon before its first slash can be given as `./a:b`.
    let is_address = text.split('/').next().is_some_and(|first| first.contains(':'));
    if is_address || path.is_absolute() { text.to_owned() } else { normalize(&here.join(path)) }
}

/// Removes `.` and `..`, which controllers reject in an address. Nodes resolve symbolic links.
fn normalize(path: &Path) -> String {
    let mut normalized = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normalized.pop();
            }
            Component::CurDir => {}
            part => normalized.push(part),
        }
    }
    normalized.display().to_string()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("a.mp4", "/here/a.mp4")]
    #[case("../a.mp4", "/a.mp4")]
    #[case("./b/./a:b.mp4", "/here/b/a:b.mp4")]
    #[case("/abs/../a.mp4", "/abs/../a.mp4")]
    #[case("s3://bucket/a.mp4", "s3://bucket/a.mp4")]
    #[case("remote:path/a.mp4", "remote:path/a.mp4")]
    fn paths_are_made_absolute_and_addresses_stay_unchanged(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(absolute(text, Path::new("/here")), expected);
    }
}
