use std::path::PathBuf;

use vmafx_kit::config::GoDuration;
use vmafx_kit::egress::ListedHosts;

use crate::scratch::ByteSize;

#[derive(Clone, Debug, clap::Args)]
pub struct ModelSettings {
    /// Directory with model files
    #[arg(long, env = "VMAFX_MODEL_DIR")]
    pub model_dir: Option<PathBuf>,
    /// Model of jobs that name none; without it, chosen by height and frame rate of the clip
    #[arg(long, env = "VMAFX_DEFAULT_MODEL")]
    pub default_model: Option<String>,
    /// Maximum size of the cache of models from registries
    #[arg(long, env = "VMAFX_MODEL_CACHE_BYTES", default_value = "1Gi")]
    pub model_cache_bytes: ByteSize,
    /// How long the resolution of a tag is used before the registry is asked again
    #[arg(long, env = "VMAFX_MODEL_TAG_TTL", default_value = "1m")]
    pub model_tag_ttl: GoDuration,
    /// How long the resolution of a tag is used while the registry does not answer
    #[arg(long, env = "VMAFX_MODEL_TAG_STALE", default_value = "1h")]
    pub model_tag_stale: GoDuration,
    /// Registries without TLS, as host:port; those on this machine need not be listed
    #[arg(long, env = "VMAFX_OCI_PLAIN_HTTP", value_delimiter = ',')]
    pub oci_plain_http: Vec<String>,
    /// Hosts of private networks, as host or host:port, that models may come from: registries, their token servers and
    /// storage; those in --oci-plain-http need not be listed again
    #[arg(long, env = "VMAFX_OCI_PRIVATE_HOSTS", value_delimiter = ',')]
    pub oci_private_hosts: Vec<String>,
}

impl ModelSettings {
    /// Hosts that an administrator listed in either setting.
    pub(super) fn private_hosts(&self) -> ListedHosts {
        ListedHosts::new(self.oci_private_hosts.iter().chain(&self.oci_plain_http).map(String::as_str))
    }
}
