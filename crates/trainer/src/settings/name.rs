use std::fmt;
use std::str::FromStr;

use vmafx_job::limits::MAX_TRAINING_NAME_LENGTH;

/// Name of a run in its registry: letters, digits, `_`, `.` and `-`; it does not start with `.` or `-`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunName(String);

impl RunName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RunName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        if text.is_empty() || text.starts_with(['.', '-']) || !text.chars().all(allowed) {
            return Err("a tag cannot start with it; use letters, digits, _, . and -, and start with none of the last two".to_owned());
        }
        if text.len() > MAX_TRAINING_NAME_LENGTH {
            return Err(format!(
                "it is too long for a tag; use at most {MAX_TRAINING_NAME_LENGTH} characters"
            ));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for RunName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
