//! What a test needs from the machine.
//!
//! On a developer's machine a test without its prerequisite is skipped, and says so. In CI, where `CI` is set, it fails:
//! a run that tested nothing must not look like one that passed.

use std::io::Write as _;

/// Skips a test of a developer's machine, or fails it in CI. `missing` says what the machine lacks and how to get it.
///
/// # Panics
///
/// In CI.
pub fn skip(missing: &str) {
    let in_ci = is_ci(std::env::var("CI").ok().as_deref());
    assert!(!in_ci, "CI must not skip a test: {missing}");
    // Written past the test harness, which hides the output of tests that pass.
    let _ = writeln!(std::io::stderr(), "skipped: {missing}");
}

/// Whether a value of the variable `CI` says that this is CI.
pub fn is_ci(value: Option<&str>) -> bool {
    value.is_some_and(|value| !value.is_empty() && value != "false" && value != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ci_is_known_by_its_variable() {
        assert!(is_ci(Some("true")) && is_ci(Some("1")));
        assert!(!is_ci(None) && !is_ci(Some("")) && !is_ci(Some("false")) && !is_ci(Some("0")));
    }
}
