//! Limits and credentials of fetches.

use std::path::PathBuf;
use std::time::Duration;

use vmafx_kit::config::GoDuration;

use crate::scratch::ByteSize;

#[derive(Clone, Debug, clap::Args)]
pub struct FetchSettings {
    /// Maximum size of an input, such as 100Gi
    #[arg(long, env = "VMAFX_MAX_INPUT_BYTES", default_value = "100Gi")]
    pub max_input_bytes: ByteSize,
    /// Timeout for the next bytes of a download
    #[arg(long, env = "VMAFX_FETCH_IDLE_TIMEOUT", default_value = "30s")]
    pub fetch_idle_timeout: GoDuration,
    /// Timeout of a whole download, with all attempts
    #[arg(long, env = "VMAFX_FETCH_TIMEOUT", default_value = "1h")]
    pub fetch_timeout: GoDuration,
    /// rclone program, for stores without a client of our own
    #[arg(long, env = "VMAFX_RCLONE_BIN", default_value = "rclone")]
    pub rclone_bin: PathBuf,
    /// Configuration file of rclone, which names the remotes; by default that of rclone itself
    #[arg(long, env = "VMAFX_RCLONE_CONFIG")]
    pub rclone_config: Option<PathBuf>,
}

#[derive(Clone, Debug)]
pub struct FetchLimits {
    /// Maximum size of an input.
    pub max_bytes: u64,
    /// Timeout of a connection.
    pub connect: Duration,
    /// Timeout from the request to the headers of the response.
    pub headers: Duration,
    /// Timeout between two chunks of a body.
    pub idle: Duration,
    /// Timeout of the whole download, with all attempts.
    pub total: Duration,
    /// Attempts in a row without much progress.
    pub attempts: usize,
    /// Delay before the second attempt; it about doubles before each further one.
    pub back_off: Duration,
    /// Maximum number of redirects.
    pub redirects: usize,
}

impl FetchSettings {
    pub fn limits(&self) -> FetchLimits {
        FetchLimits {
            max_bytes: self.max_input_bytes.0,
            idle: self.fetch_idle_timeout.0,
            total: self.fetch_timeout.0,
            ..FetchLimits::default()
        }
    }
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self {
            max_bytes: 100 << 30,
            connect: Duration::from_secs(10),
            headers: Duration::from_secs(30),
            idle: Duration::from_secs(30),
            total: Duration::from_hours(1),
            attempts: 5,
            back_off: Duration::from_millis(200),
            redirects: 5,
        }
    }
}

impl FetchLimits {
    pub(crate) fn retry_delays(&self) -> impl Iterator<Item = Duration> + Send + use<> {
        backon::BackoffBuilder::build(
            backon::ExponentialBuilder::default()
                .with_min_delay(self.back_off)
                .with_max_delay(self.back_off.saturating_mul(40))
                .with_max_times(self.attempts.saturating_sub(1))
                .with_jitter(),
        )
    }
}

/// The variables with the credentials and endpoints of stores and rclone: `AWS_*`, `GOOGLE_*`, `AZURE_*` and `RCLONE_*`. A
/// value rather than the environment, so that tests can pass their own.
#[derive(Clone, Default)]
pub struct StoreVariables(Vec<(String, String)>);

impl StoreVariables {
    pub fn of_process() -> Self {
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    pub(crate) fn starting_with(&self, prefix: &str) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .filter(move |(name, _)| name.starts_with(prefix))
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for StoreVariables {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        let pairs = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        let kept = pairs.filter(|(name, value): &(String, String)| {
            let ours = ["AWS_", "GOOGLE_", "AZURE_", "RCLONE_"].iter().any(|prefix| name.starts_with(prefix));
            ours && !value.is_empty()
        });
        Self(kept.collect())
    }
}

/// Without the values, most of which are secrets.
impl std::fmt::Debug for StoreVariables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}
