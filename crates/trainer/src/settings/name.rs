//! The name of a run.

use std::fmt;
use std::str::FromStr;

/// Longest name that, with a version behind it, is still a tag.
const LONGEST: usize = 100;

/// Names a run in its registry: letters, digits, `_`, `.` and `-`, and neither of the last two first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunName(String);

impl RunName {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RunName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let may = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        if text.is_empty() || text.starts_with(['.', '-']) || !text.chars().all(may) {
            return Err("a tag cannot begin with it: use letters, digits, _, . and -".to_owned());
        }
        if text.len() > LONGEST {
            return Err(format!("a tag has no room for it: use at most {LONGEST} characters"));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for RunName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
