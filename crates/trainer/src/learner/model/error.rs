/// Why a model cannot be trained further.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The scoring engine rejects it, too.
    #[error(transparent)]
    Engine(#[from] vmafx_scoring::engine::models::ModelError),
    #[error("model {model} is not a VMAF model in JSON")]
    Json { model: String, source: serde_json::Error },
    #[error(
        "model {model} is a collection with a confidence interval, and only a single model can be trained; use the one without \"_b\" in its name, such as vmaf_v0.6.1"
    )]
    Collection { model: String },
    #[error(
        "model {model} cannot be trained: {problem}; a base model is one nu-SVR with a radial kernel on rescaled features, as all built-in VMAF models except the collections are"
    )]
    Unfit { model: String, problem: String },
}
