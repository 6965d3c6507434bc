//! A registry with checkpoints, and a home directory in which the program runs.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use vmafx_oci::checkpoint::{self, CheckpointMetadata, ModelComparison, PredictionMetrics};
use vmafx_oci::{Digest, RegistryClient, RegistryCredentials, Repository};
use vmafx_scoring::engine::models::Model;
use vmafx_testkit::command::CommandOutput;
use vmafx_testkit::registry::{RegistryAuth, RegistryServer};

pub(crate) struct Fixture {
    pub(crate) registry: RegistryServer,
    pub(crate) models: Repository,
    pub(crate) home: tempfile::TempDir,
}

impl Fixture {
    pub(crate) async fn new(access: RegistryAuth) -> Self {
        let registry = RegistryServer::start(access).await.unwrap();
        let models = Repository::parse(&format!("{}/video/models", registry.address())).unwrap();
        Self { registry, models, home: tempfile::tempdir().unwrap() }
    }

    /// A registry with `count` checkpoints. The gate held back the last one; the one before it is stable.
    pub(crate) async fn trained(name: &str, count: u64) -> Self {
        let fixture = Self::new(RegistryAuth::Open).await;
        fixture.train(name, count).await;
        fixture
    }

    pub(crate) async fn train(&self, name: &str, count: u64) {
        let client = RegistryClient::new(RegistryCredentials::none(), Vec::new()).unwrap();
        let mut parent = None;
        for number in 1..=count {
            let metadata = metadata(name, number, parent, number < count);
            let artifact = checkpoint::artifact(&metadata, model(number).into(), b"state".to_vec().into());
            let digest = client.push(&self.models, &artifact, &metadata.version()).await.unwrap();
            if metadata.gate_passed {
                client.retag(&self.models, &digest, &checkpoint::stable_tag(name)).await.unwrap();
            }
            parent = Some(digest);
        }
    }

    pub(crate) fn reference(&self, tag: &str) -> String {
        self.models.tagged(tag).to_string()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Runs `vmafx models …` in the home directory.
    pub(crate) fn run(&self, arguments: &[&str]) -> CommandOutput {
        run_in(self.home.path(), arguments)
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.run(&[arguments, &["-o", "json"]].concat()).ok()).unwrap()
    }
}

pub(crate) fn run_in(home: &std::path::Path, arguments: &[&str]) -> CommandOutput {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vmafx"));
    command.arg("models").args(arguments).stdin(Stdio::null()).current_dir(home);
    command.env("HOME", home).env("RUST_BACKTRACE", "1");
    command.env_remove("DOCKER_CONFIG").env_remove("VMAFX_OCI_PLAIN_HTTP");
    CommandOutput::of(&mut command)
}

/// `vmaf_v0.6.1` with its first ten weights changed by 0.01 per version.
pub(crate) fn model(number: u64) -> Vec<u8> {
    let mut json: Value = serde_json::from_slice(Model::named("vmaf_v0.6.1").unwrap().json()).unwrap();
    let machine = json["model_dict"]["model"].as_str().unwrap();
    let (head, vectors) = machine.split_once("SV\n").unwrap();
    let moved = vectors.lines().enumerate().map(|(index, line)| {
        let (weight, rest) = line.split_once(' ').unwrap();
        let weight: f64 = weight.parse().unwrap();
        let change = if index < 10 { f64::from(u32::try_from(number).unwrap()) * 0.01 } else { 0.0 };
        format!("{} {rest}\n", weight + change)
    });
    json["model_dict"]["model"] = format!("{head}SV\n{}", moved.collect::<String>()).into();
    serde_json::to_vec(&json).unwrap()
}

fn metadata(name: &str, number: u64, parent: Option<Digest>, gate_passed: bool) -> CheckpointMetadata {
    let samples = number * 100;
    let better = f64::from(u32::try_from(number).unwrap());
    let metrics = |rmse, srocc| PredictionMetrics {
        count: samples,
        rmse,
        plcc: Some(srocc - 0.01),
        srocc: Some(srocc),
    };
    let comparison = ModelComparison {
        model: metrics(19.64 - better, 0.8474 + better / 500.0),
        base: metrics(19.64, 0.8474),
    };
    CheckpointMetadata {
        name: name.to_owned(),
        namespace: "video".to_owned(),
        uid: "0b6c".to_owned(),
        number,
        created: jiff::Timestamp::from_second(1_790_000_000 + i64::try_from(number).unwrap() * 600).unwrap(),
        base_model: "vmaf_v0.6.1".to_owned(),
        base_digest: Model::named("vmaf_v0.6.1").unwrap().digest,
        parent,
        samples,
        refused: 3,
        cursor: format!("s{samples}"),
        all: comparison,
        window: comparison,
        held_out: comparison,
        gate_passed,
        gate_message: if gate_passed { "better than its base" } else { "SROCC 0.81 is below 0.84" }
            .to_owned(),
        seed: 7,
        ema: 0.99,
    }
}

/// The lines of a text with single spaces.
pub(crate) fn lines(text: &str) -> Vec<String> {
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}
