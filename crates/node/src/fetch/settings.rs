//! Limits and credentials.

use std::path::PathBuf;
use std::time::Duration;

use vmafx_kit::config::GoDuration;

use crate::scratch::Size;

/// What the environment says about inputs.
#[derive(Clone, Debug, clap::Args)]
pub struct FetchSettings {
    /// Longest input, such as 100Gi
    #[arg(long, env = "VMAFX_MAX_INPUT_BYTES", default_value = "100Gi")]
    pub max_input_bytes: Size,
    /// How long a download may bring nothing
    #[arg(long, env = "VMAFX_FETCH_IDLE_TIMEOUT", default_value = "30s")]
    pub fetch_idle_timeout: GoDuration,
    /// How long a download may take in all
    #[arg(long, env = "VMAFX_FETCH_TIMEOUT", default_value = "1h")]
    pub fetch_timeout: GoDuration,
    /// The rclone program
    #[arg(long, env = "VMAFX_RCLONE_BIN", default_value = "rclone")]
    pub rclone_bin: PathBuf,
    /// rclone's configuration, where remotes are named; without it, rclone's usual place
    #[arg(long, env = "VMAFX_RCLONE_CONFIG")]
    pub rclone_config: Option<PathBuf>,
}

/// How much, and how long.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Longest input.
    pub bytes: u64,
    /// Until a connection stands.
    pub connect: Duration,
    /// From the request to the headers of the answer.
    pub headers: Duration,
    /// Between two pieces of a body.
    pub idle: Duration,
    /// From beginning to end, with all attempts.
    pub whole: Duration,
    /// Attempts in a row that bring nothing.
    pub attempts: usize,
    /// Before the second attempt; about twice as long before each further one.
    pub back_off: Duration,
    /// Redirects that are followed.
    pub redirects: usize,
}

impl FetchSettings {
    /// The limits that follow.
    pub fn limits(&self) -> Limits {
        Limits {
            bytes: self.max_input_bytes.0,
            idle: self.fetch_idle_timeout.0,
            whole: self.fetch_timeout.0,
            ..Limits::default()
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 100 << 30,
            connect: Duration::from_secs(10),
            headers: Duration::from_secs(30),
            idle: Duration::from_secs(30),
            whole: Duration::from_hours(1),
            attempts: 5,
            back_off: Duration::from_millis(200),
            redirects: 5,
        }
    }
}

impl Limits {
    /// The pauses between attempts.
    pub(crate) fn pauses(&self) -> impl Iterator<Item = Duration> + Send + use<> {
        backon::BackoffBuilder::build(
            backon::ExponentialBuilder::default()
                .with_min_delay(self.back_off)
                .with_max_delay(self.back_off.saturating_mul(40))
                .with_max_times(self.attempts.saturating_sub(1))
                .with_jitter(),
        )
    }
}

/// The variables that stores and rclone take their credentials and endpoints from: `AWS_*`, `GOOGLE_*`, `AZURE_*` and
/// `RCLONE_*`. A value, so that tests bring their own.
#[derive(Clone, Default)]
pub struct StoreVariables(Vec<(String, String)>);

impl StoreVariables {
    /// Those of this process.
    pub fn of_process() -> Self {
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    /// Those that begin so.
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

/// Names only: most values are secrets.
impl std::fmt::Debug for StoreVariables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}
