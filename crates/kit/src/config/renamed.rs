use std::fmt;

/// A variable that older releases read. Ignoring it would silently start the daemon with a default, so a daemon
/// that finds one set refuses to start and says what to set instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenamedVariable {
    pub(super) old: &'static str,
    new: &'static str,
    hint: &'static str,
}

impl RenamedVariable {
    /// The value is the same under the new name.
    pub const fn new(old: &'static str, new: &'static str) -> Self {
        Self { old, new, hint: "" }
    }

    /// For a new name that takes another value: `hint` describes it, as in "a port such as 9443, or 0".
    #[must_use]
    pub const fn with(self, hint: &'static str) -> Self {
        Self { hint, ..self }
    }
}

impl fmt::Display for RenamedVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is no longer read: set {}", self.old, self.new)?;
        if self.hint.is_empty() { f.write_str(" instead") } else { write!(f, " to {} instead", self.hint) }
    }
}
