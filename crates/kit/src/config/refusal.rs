//! Why a daemon does not start with the settings it was given.

use super::renamed::Renamed;

/// Settings that cannot be used. Each text names the variable or the flag to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A variable holds a value that its setting does not take.
    #[error("{variable} cannot be \"{value}\": {reason}")]
    Value {
        /// The environment variable.
        variable: String,
        /// What it holds.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A variable holds bytes that are not text.
    #[error("{variable} does not hold UTF-8 text")]
    NotText {
        /// The environment variable.
        variable: String,
    },
    /// Settings without a default that were not given.
    #[error("not set: {}", settings.join(", "))]
    Missing {
        /// Each as `VARIABLE (--flag <VALUE>)`.
        settings: Vec<String>,
    },
    /// Variables of an older release are set.
    #[error("{}", lines(variables))]
    Renamed {
        /// Those that are set.
        variables: Vec<Renamed>,
    },
    /// Two settings that exclude each other.
    #[error("{first} and {second} are both set: give only one of them")]
    Both {
        /// One variable.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// A setting that has no effect without another.
    #[error("{variable} is set, but {needs} is not: either set {needs} or remove {variable}")]
    Without {
        /// The variable that is set.
        variable: &'static str,
        /// The one it needs, with its value, as in `VMAFX_CONTROLLER_TLS=true`.
        needs: &'static str,
    },
    /// A mistake on the command line, in clap's words.
    #[error("{0}")]
    Usage(String),
}

fn lines(variables: &[Renamed]) -> String {
    variables.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
