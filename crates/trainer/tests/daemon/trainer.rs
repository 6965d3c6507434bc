//! The trainer as a process.

use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use vmafx_testkit::kube::process::{ChildCommand, ChildProcess};
use vmafx_testkit::wait;

use crate::controller::free_address;

pub(crate) const PATIENCE: Duration = Duration::from_mins(3);

/// How one is started.
#[derive(Clone)]
pub(crate) struct Plan {
    variables: Vec<(String, String)>,
}

impl Plan {
    /// A run of this name, whose checkpoints go to `registry` as soon as there is anything new.
    pub(crate) fn new(name: &str, registry: &str) -> Self {
        let plan = Self { variables: Vec::new() };
        plan.set("VMAFX_TRAINER_NAME", name)
            .set("VMAFX_TRAINER_UID", &format!("uid-of-{name}"))
            .set("VMAFX_TRAINER_OUTPUT_REGISTRY", &format!("{registry}/models"))
            .set("VMAFX_TRAINER_CHECKPOINT_INTERVAL", "0s")
            .set("VMAFX_TRAINER_CHECKPOINT_MIN_SAMPLES", "1")
            // Samples are few here, and so are the ones put aside.
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
        let (address, log) = (free_address(), directory.path().join("log"));
        let program = PathBuf::from(env!("CARGO_BIN_EXE_vmafx-trainer"));
        let mut launch = ChildCommand::new("vmafx-trainer", program, &log)
            .env("VMAFX_TRAINER_STATUS_ADDR", &address)
            .env("VMAFX_LOG_FORMAT", "text");
        for (name, value) in &self.variables {
            launch = launch.env(name, value);
        }
        let process = ChildProcess::start(&launch).unwrap();
        Trainer { process, address, directory }
    }
}

/// A trainer, killed when dropped.
pub(crate) struct Trainer {
    process: ChildProcess,
    address: String,
    directory: tempfile::TempDir,
}

impl Trainer {
    /// One of its pages; nothing while it does not answer.
    pub(crate) async fn page(&self, path: &str) -> Option<(u16, String)> {
        page(&self.address, path).await
    }

    /// What it says of itself.
    pub(crate) async fn status(&self) -> Option<Value> {
        let (code, body) = self.page("/status").await?;
        assert_eq!(code, 200, "{body}");
        assert!(body.len() < 4096, "{body}");
        Some(serde_json::from_str(&body).unwrap())
    }

    /// Its status once it is as it is wanted.
    pub(crate) async fn until(&self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        let look = || async {
            match self.status().await {
                Some(status) if is(&status) => Ok(status),
                Some(status) => Err(status.to_string()),
                None => Err("no answer".to_owned()),
            }
        };
        match wait::until(PATIENCE, what, look).await {
            Ok(status) => status,
            Err(error) => panic!("{error}\n{}", self.log()),
        }
    }

    /// Once it has learned from so many.
    pub(crate) async fn learned(&self, samples: u64) -> Value {
        let what = format!("{samples} samples");
        self.until(&what, |status| status["current_samples"] == samples).await
    }

    /// A series of its metrics.
    pub(crate) async fn metric(&self, series: &str) -> Option<f64> {
        let (_, page) = self.page("/metrics").await?;
        page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok())
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    /// The end that nobody is told of.
    pub(crate) fn kill(mut self) {
        self.process.kill().unwrap();
    }

    /// Tells it to leave and waits until it has.
    pub(crate) async fn leave(mut self) {
        self.process.signal(Signal::TERM).unwrap();
        let waited =
            wait::until(PATIENCE, "the trainer's end", || std::future::ready(self.process.ended().is_some()));
        waited.await.unwrap();
        let status = self.process.wait().unwrap();
        assert!(status.success(), "{status}\n{}", self.log());
    }
}

async fn page(address: &str, path: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    let asked = format!("GET {path} HTTP/1.1\r\nHost: trainer\r\nConnection: close\r\n\r\n");
    stream.write_all(asked.as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let code = head.split(' ').nth(1)?.parse().ok()?;
    Some((code, body.to_owned()))
}
