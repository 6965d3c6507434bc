//! A fetcher with a scratch directory of its own, and timeouts that are short enough for a test.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use vmafx_job::Failure;
use vmafx_kit::config::GoDuration;
use vmafx_node::fetch::{FetchLimits, FetchSettings, FetchedFile, Fetcher, StoreVariables};
use vmafx_node::paths::ScoringRoots;
use vmafx_node::scratch::{ByteSize, Scratch, ScratchSettings};

pub(crate) struct Fixture {
    pub(crate) fetcher: Fetcher,
    pub(crate) scratch: Scratch,
    pub(crate) directory: tempfile::TempDir,
}

pub(crate) struct FixtureOptions {
    pub(crate) limits: FetchLimits,
    pub(crate) scratch_bytes: u64,
    pub(crate) variables: Vec<(String, String)>,
    pub(crate) rclone: Option<(PathBuf, String)>,
}

impl Default for FixtureOptions {
    fn default() -> Self {
        let limits =
            FetchLimits { max_bytes: 4 << 20, back_off: Duration::from_millis(1), ..FetchLimits::default() };
        Self { limits, scratch_bytes: 64 << 20, variables: Vec::new(), rclone: None }
    }
}

impl FixtureOptions {
    pub(crate) fn build(self) -> Fixture {
        let directory = tempfile::tempdir().unwrap();
        let scratch = Scratch::open(&ScratchSettings {
            scratch_dir: Some(directory.path().join("scratch")),
            scratch_bytes: ByteSize(self.scratch_bytes),
            scratch_wait: GoDuration(Duration::from_secs(20)),
        })
        .unwrap();
        let (rclone_bin, config) = self.rclone.unwrap_or(("/nowhere/rclone".into(), String::new()));
        let rclone_config = directory.path().join("rclone.conf");
        std::fs::write(&rclone_config, config).unwrap();
        let settings = FetchSettings {
            max_input_bytes: ByteSize(self.limits.max_bytes),
            fetch_idle_timeout: GoDuration(self.limits.idle),
            fetch_timeout: GoDuration(self.limits.total),
            rclone_bin,
            rclone_config: Some(rclone_config),
        };
        let variables: StoreVariables = self.variables.into_iter().collect();
        let fetcher = Fetcher::with_limits(&settings, self.limits, &variables, scratch.clone()).unwrap();
        Fixture { fetcher, scratch, directory }
    }
}

impl Fixture {
    pub(crate) async fn fetch(&self, uri: &str, root: &str) -> Result<Arc<FetchedFile>, Failure> {
        self.fetcher.fetch(uri, &roots(&[root]), &CancellationToken::new(), &|_| {}).await
    }

    /// Files in the scratch directory of this process, except for its lock and its two directories.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let below = ["objects", "jobs"].map(|part| self.scratch.path().join(part));
        let entries = below.iter().flat_map(|part| std::fs::read_dir(part).unwrap());
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// No file is left and no space is reserved.
    pub(crate) fn assert_clean(&self) {
        assert_eq!(self.files(), Vec::<PathBuf>::new());
        assert_eq!(self.scratch.reserved(), 0);
    }
}

pub(crate) fn roots(texts: &[&str]) -> ScoringRoots {
    ScoringRoots::parse(&texts.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap()
}

pub(crate) fn read(path: impl AsRef<Path>) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

/// Bytes without a repetition.
pub(crate) fn clip(length: usize) -> Vec<u8> {
    (0_u32..).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).take(length).collect()
}
