//! Why a model cannot be a base.

/// Why a model cannot be learned from.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The engine would not score with it either.
    #[error(transparent)]
    Engine(#[from] vmafx_scoring::engine::models::ModelError),
    /// It is JSON, but not that of one model.
    #[error("model {model} is not a VMAF model in JSON")]
    Json {
        /// The model.
        model: String,
        /// Where and why.
        source: serde_json::Error,
    },
    /// Several models in one.
    #[error(
        "model {model} is a collection with a confidence interval, and only a single model can be learned from; take the one without \"_b\" in its name, such as vmaf_v0.6.1"
    )]
    Collection {
        /// The model.
        model: String,
    },
    /// It is built in another way.
    #[error(
        "model {model} cannot be learned from: {problem}; a base model is one nu-SVR with a radial kernel on rescaled features, as all built-in VMAF models but the collections are"
    )]
    Unfit {
        /// The model.
        model: String,
        /// What is different.
        problem: String,
    },
}
