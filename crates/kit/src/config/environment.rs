use std::collections::HashMap;
use std::ffi::{OsStr, OsString};

/// A snapshot of environment variables. Empty ones are left out: a chart writes `value: ""` for what its user did
/// not set, and that must mean the default.
#[derive(Clone, Debug, Default)]
pub struct Environment(HashMap<OsString, OsString>);

impl Environment {
    pub fn of_process() -> Self {
        std::env::vars_os().collect()
    }

    /// The value of a variable that is set and not empty.
    pub fn get(&self, variable: impl AsRef<OsStr>) -> Option<&OsStr> {
        self.0.get(variable.as_ref()).map(OsString::as_os_str)
    }
}

impl<K: Into<OsString>, V: Into<OsString>> FromIterator<(K, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(variables: I) -> Self {
        let pairs = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        Self(pairs.filter(|(_, value): &(_, OsString)| !value.is_empty()).collect())
    }
}
