//! Addresses of clips, as people type them.

use std::path::{Component, Path, PathBuf};

/// A path is made absolute; an address is left alone.
pub(crate) fn absolute(text: &str, here: &Path) -> String {
    let path = Path::new(text);
    // `remote:path` is rclone's; no path that people type has a colon before its first slash.
    let is_address = text.split('/').next().is_some_and(|first| first.contains(':'));
    if is_address || path.is_absolute() { text.to_owned() } else { tidy(&here.join(path)) }
}

/// Without `.` and `..`, which controllers refuse in an address. Links are left to the nodes.
fn tidy(path: &Path) -> String {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                tidy.pop();
            }
            Component::CurDir => {}
            part => tidy.push(part),
        }
    }
    tidy.display().to_string()
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
    fn paths_are_made_absolute_and_addresses_left_alone(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(absolute(text, Path::new("/here")), expected);
    }
}
