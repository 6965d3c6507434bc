//! The trainer as a child process.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use vmafx_testkit::kube::process::{ChildCommand, ChildProcess};
use vmafx_testkit::{http_client, ports, wait};

pub(crate) const TIMEOUT: Duration = Duration::from_mins(3);

#[derive(Clone)]
pub(crate) struct TrainerConfig {
    variables: Vec<(String, String)>,
}

impl TrainerConfig {
    /// A run of this name that pushes a checkpoint to `registry` as soon as there is a new sample.
    pub(crate) fn new(name: &str, registry: &str) -> Self {
        let empty = Self { variables: Vec::new() };
        empty
            .set("VMAFX_TRAINER_NAME", name)
            .set("VMAFX_TRAINER_UID", &format!("uid-of-{name}"))
            .set("VMAFX_TRAINER_OUTPUT_REGISTRY", &format!("{registry}/models"))
            .set("VMAFX_TRAINER_CHECKPOINT_INTERVAL", "0s")
            .set("VMAFX_TRAINER_CHECKPOINT_MIN_SAMPLES", "1")
            // Tests have few samples, so SROCC on the held-out set varies widely.
            .set("VMAFX_TRAINER_GATE_MAX_SROCC_DROP", "0.2")
            .set("DOCKER_CONFIG", "/nowhere")
    }

    pub(crate) fn controller(self, address: &str) -> Self {
        self.set("VMAFX_CONTROLLER_ADDR", address)
    }

    pub(crate) fn set(mut self, variable: &str, value: &str) -> Self {
        self.variables.retain(|(name, _)| name != variable);
        self.variables.push((variable.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn start(&self) -> Trainer {
        let directory = tempfile::tempdir().unwrap();
        let (address, log) = (ports::free_address().unwrap(), directory.path().join("log"));
        let program = PathBuf::from(env!("CARGO_BIN_EXE_vmafx-trainer"));
        let mut launch = ChildCommand::new("vmafx-trainer", program, &log)
            .env("VMAFX_TRAINER_STATUS_ADDR", address.to_string())
            .env("VMAFX_LOG_FORMAT", "text");
        for (name, value) in &self.variables {
            launch = launch.env(name, value);
        }
        let process = ChildProcess::start(&launch).unwrap();
        Trainer { process, address, directory }
    }
}

/// The process is killed when this is dropped.
pub(crate) struct Trainer {
    process: ChildProcess,
    address: SocketAddr,
    directory: tempfile::TempDir,
}

impl Trainer {
    /// Status code and body of an HTTP response; `None` if the trainer does not respond.
    pub(crate) async fn page(&self, path: &str) -> Option<(u16, String)> {
        let response = http_client::get(self.address, path).await.ok()?;
        Some((response.status, response.body))
    }

    pub(crate) async fn status(&self) -> Option<Value> {
        let (code, body) = self.page("/status").await?;
        assert_eq!(code, 200, "{body}");
        assert!(body.len() < 4096, "{body}");
        Some(serde_json::from_str(&body).unwrap())
    }

    /// Waits until the status fulfils a condition, and returns it.
    pub(crate) async fn until(&self, what: &str, condition: impl Fn(&Value) -> bool) -> Value {
        let look = || async {
            match self.status().await {
                Some(status) if condition(&status) => Ok(status),
                Some(status) => Err(status.to_string()),
                None => Err("no response".to_owned()),
            }
        };
        match wait::until(TIMEOUT, what, look).await {
            Ok(status) => status,
            Err(error) => panic!("{error}\n{}", self.log()),
        }
    }

    /// Waits until the trainer has accepted so many samples.
    pub(crate) async fn learned(&self, samples: u64) -> Value {
        let what = format!("{samples} samples");
        self.until(&what, |status| status["current_samples"] == samples).await
    }

    pub(crate) async fn metric(&self, series: &str) -> Option<f64> {
        http_client::get(self.address, "/metrics").await.ok()?.metric(series)
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    /// Sends SIGKILL.
    pub(crate) fn kill(mut self) {
        self.process.kill().unwrap();
    }

    /// Sends SIGTERM and waits for a successful exit.
    pub(crate) async fn stop(mut self) {
        self.process.signal(Signal::TERM).unwrap();
        let waited = wait::until(TIMEOUT, "the trainer to exit", || {
            std::future::ready(self.process.ended().is_some())
        });
        waited.await.unwrap();
        let status = self.process.wait().unwrap();
        assert!(status.success(), "{status}\n{}", self.log());
    }
}
