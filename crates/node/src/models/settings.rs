//! What the environment says about models.

use std::path::PathBuf;

use vmafx_kit::config::GoDuration;

use crate::scratch::Size;

/// What the environment says about models.
#[derive(Clone, Debug, clap::Args)]
pub struct ModelSettings {
    /// Directory with model files
    #[arg(long, env = "VMAFX_MODEL_DIR")]
    pub model_dir: Option<PathBuf>,
    /// Model of jobs that name none; without it, the one that fits the clip
    #[arg(long, env = "VMAFX_DEFAULT_MODEL")]
    pub default_model: Option<String>,
    /// Most bytes of models from registries that are kept
    #[arg(long, env = "VMAFX_MODEL_CACHE_BYTES", default_value = "1Gi")]
    pub model_cache_bytes: Size,
    /// How long a tag is trusted before its registry is asked again
    #[arg(long, env = "VMAFX_MODEL_TAG_TTL", default_value = "1m")]
    pub model_tag_ttl: GoDuration,
    /// How long a tag is trusted while its registry does not answer
    #[arg(long, env = "VMAFX_MODEL_TAG_STALE", default_value = "1h")]
    pub model_tag_stale: GoDuration,
    /// Registries without TLS, as host:port; those on this machine need not be listed
    #[arg(long, env = "VMAFX_OCI_PLAIN_HTTP", value_delimiter = ',')]
    pub oci_plain_http: Vec<String>,
}
