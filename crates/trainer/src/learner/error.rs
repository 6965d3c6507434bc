//! Why there is no learner.

/// Why a learner cannot be made or restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LearnerError {
    /// An option that cannot be meant.
    #[error("{option} must be {rule}")]
    Option {
        /// The option.
        option: &'static str,
        /// What it must be.
        rule: &'static str,
    },
    /// The base model cannot be learned from: its centres are all one.
    #[error("the base model {model} cannot learn: {problem}")]
    Base {
        /// The model.
        model: String,
        /// Why.
        problem: String,
    },
    /// The state is of another version of this program.
    #[error("the state has version {found}, and this program reads version {expected}")]
    Version {
        /// What the state says.
        found: u32,
        /// What is understood.
        expected: u32,
    },
    /// The state was learned from another base model.
    #[error("the state was learned from the base model {found}, not from {expected}")]
    OtherBase {
        /// Digest in the state.
        found: String,
        /// Digest of the base model.
        expected: String,
    },
    /// The state is damaged.
    #[error("the state is damaged: {problem}")]
    Damaged {
        /// What is wrong.
        problem: String,
    },
}
