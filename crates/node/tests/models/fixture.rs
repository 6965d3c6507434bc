//! A directory of models, a cache and a client for registries.

use std::path::Path;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use vmafx_job::Failure;
use vmafx_kit::config::GoDuration;
use vmafx_node::fetch::{FetchLimits, FetchSettings, Fetcher, StoreVariables};
use vmafx_node::models::{ModelSettings, Models, RegistryCredentials, ResolvedModel};
use vmafx_node::scratch::{ByteSize, Scratch, ScratchSettings};
use vmafx_node::task::ModelSource;

pub(crate) const MEDIA_TYPE: &str = "application/vnd.vmafx.model.v1+json";

pub(crate) struct Fixture {
    pub(crate) models: Models,
    pub(crate) directory: tempfile::TempDir,
}

pub(crate) struct FixtureOptions {
    pub(crate) settings: ModelSettings,
    pub(crate) credentials: RegistryCredentials,
    pub(crate) directory: tempfile::TempDir,
}

impl FixtureOptions {
    pub(crate) fn new() -> Self {
        let settings = ModelSettings {
            model_dir: None,
            default_model: None,
            model_cache_bytes: ByteSize(1 << 30),
            model_tag_ttl: GoDuration(Duration::from_mins(1)),
            model_tag_stale: GoDuration(Duration::from_hours(1)),
            oci_plain_http: Vec::new(),
            // The registries of these tests.
            oci_private_hosts: vec!["127.0.0.1".to_owned()],
        };
        Self { settings, credentials: RegistryCredentials::none(), directory: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn build(self) -> Fixture {
        let scratch = Scratch::open(&ScratchSettings {
            scratch_dir: Some(self.directory.path().join("scratch")),
            scratch_bytes: ByteSize(1 << 30),
            scratch_wait: GoDuration(Duration::from_secs(1)),
        })
        .unwrap();
        let settings = FetchSettings {
            max_input_bytes: ByteSize(1 << 30),
            fetch_idle_timeout: GoDuration(Duration::from_secs(5)),
            fetch_timeout: GoDuration(Duration::from_mins(1)),
            rclone_bin: "rclone".into(),
            rclone_config: None,
        };
        let limits = FetchLimits { attempts: 2, back_off: Duration::from_millis(1), ..settings.limits() };
        let fetcher = Fetcher::with_limits(&settings, limits, &StoreVariables::default(), scratch).unwrap();
        let models = Models::new(&self.settings, self.credentials, &fetcher).unwrap();
        Fixture { models, directory: self.directory }
    }
}

impl Fixture {
    pub(crate) async fn find(&self, name: &str) -> Result<ResolvedModel, Failure> {
        self.models.find(name, &CancellationToken::new()).await
    }

    pub(crate) fn cached(&self) -> usize {
        std::fs::read_dir(self.directory.path().join("scratch/models")).unwrap().count()
    }
}

pub(crate) fn path(model: &ResolvedModel) -> &Path {
    match &**model {
        ModelSource::File { path, .. } => path,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn name(model: &ResolvedModel) -> &str {
    match &**model {
        ModelSource::File { name, .. } => name,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn json(model: &ResolvedModel) -> Vec<u8> {
    std::fs::read(path(model)).unwrap()
}
