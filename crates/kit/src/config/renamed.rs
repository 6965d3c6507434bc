//! Variables that older releases read.

use std::fmt;

use super::environment::Environment;

/// A variable that is no longer read. Ignoring it would start the daemon with a default nobody asked for, so a
/// daemon that finds one set refuses to start and says what to write instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renamed {
    old: &'static str,
    new: &'static str,
    how: &'static str,
}

impl Renamed {
    /// The same value under another name.
    pub const fn new(old: &'static str, new: &'static str) -> Self {
        Self { old, new, how: "" }
    }

    /// Where the value changes its meaning too: `how` says what to write, as in "a port such as 9443, or 0".
    #[must_use]
    pub const fn with(self, how: &'static str) -> Self {
        Self { how, ..self }
    }

    /// Those of a table that are set.
    pub(super) fn found(table: &[Self], env: &Environment) -> Vec<Self> {
        table.iter().filter(|renamed| env.get(renamed.old).is_some()).copied().collect()
    }
}

impl fmt::Display for Renamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is no longer read: set {}", self.old, self.new)?;
        if self.how.is_empty() { f.write_str(" instead") } else { write!(f, " to {} instead", self.how) }
    }
}
