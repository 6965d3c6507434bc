use super::renamed::RenamedVariable;

/// Invalid settings. Each text names the variable or the flag to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    #[error("{variable} cannot be \"{value}\": {reason}")]
    Value { variable: String, value: String, reason: String },
    #[error("{variable} does not hold UTF-8 text")]
    NotUtf8 { variable: String },
    #[error("not set: {}", settings.join(", "))]
    Missing {
        /// Each as `VARIABLE (--flag <VALUE>)`.
        settings: Vec<String>,
    },
    #[error("{}", one_per_line(variables))]
    Renamed { variables: Vec<RenamedVariable> },
    #[error("{first} and {second} are both set: give only one of them")]
    Both { first: &'static str, second: &'static str },
    #[error("{variable} is set, but {needs} is not: either set {needs} or remove {variable}")]
    Without {
        variable: &'static str,
        /// Includes the value, as in `VMAFX_CONTROLLER_TLS=true`.
        needs: &'static str,
    },
    /// Clap's message about a mistake on the command line.
    #[error("{0}")]
    Usage(String),
}

fn one_per_line(variables: &[RenamedVariable]) -> String {
    variables.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
