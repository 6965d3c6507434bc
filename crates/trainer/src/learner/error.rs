/// Why a learner cannot be created or restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LearnerError {
    #[error("the learner option {option} must be {rule}")]
    Option { option: &'static str, rule: &'static str },
    #[error("the base model {model} cannot be trained: {problem}")]
    Base { model: String, problem: String },
    #[error("the saved learner has format version {found}, and this program reads versions up to {expected}")]
    Version { found: u32, expected: u32 },
    /// Both values are digests of base models.
    #[error("the saved learner was trained on the base model {found}, not on {expected}")]
    OtherBase { found: String, expected: String },
    #[error("the saved learner is damaged: {problem}")]
    Damaged { problem: String },
}
