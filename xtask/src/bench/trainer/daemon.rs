//! Checkpoint time and memory of the daemon with a full replay buffer.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use vmafx_testkit::kube::process::{ChildCommand, ChildProcess};
use vmafx_testkit::registry::{RegistryAuth, RegistryServer};

use crate::bench::process::resident;
use crate::workspace;

/// Samples that fill the replay buffer, which keeps seven in eight and at most ten thousand.
const FILL_SAMPLES: usize = 12_000;
/// Samples between two checkpoints.
const SAMPLES_PER_CHECKPOINT: usize = 500;
const CHECKPOINTS: usize = 5;
const TIMEOUT: Duration = Duration::from_mins(2);
const PUSH_SECONDS: &str = "vmafx_trainer_checkpoint_push_seconds_";

/// Seconds of each checkpoint, from the snapshot to the registry's last response, and megabytes at each.
pub(super) fn measure() -> Result<(Vec<f64>, Vec<f64>)> {
    let runtime = tokio::runtime::Runtime::new()?;
    let registry = runtime.block_on(RegistryServer::start(RegistryAuth::Open))?;
    let directory = tempfile::tempdir()?;
    let (socket, address) = (directory.path().join("samples.sock"), free_address()?);
    let launch =
        ChildCommand::new("vmafx-trainer", workspace::release("vmafx-trainer"), directory.path().join("log"))
            .env("VMAFX_TRAINER_NAME", "bench")
            .env("VMAFX_TRAINER_OUTPUT_REGISTRY", format!("{}/models", registry.address()))
            .env("VMAFX_TRAINER_CHECKPOINT_INTERVAL", "0s")
            .env("VMAFX_TRAINER_CHECKPOINT_MIN_SAMPLES", SAMPLES_PER_CHECKPOINT.to_string())
            .env("VMAFX_TRAINER_STATUS_ADDR", &address)
            .env("VMAFX_SIDECAR_SOCKET", &socket);
    let process = ChildProcess::start(&launch)?;
    until("the trainer", || Ok(page(&address, "/readyz").is_ok_and(|page| page.contains(" 200 "))))?;
    let mut sender = SampleSender::new(&socket)?;
    sender.send(FILL_SAMPLES)?;
    let pending = || metric(&address, "vmafx_trainer_samples_pending");
    until("the first checkpoints", || Ok(pending()? < 500.0))?;
    let (mut seconds, mut memory) = (Vec::new(), Vec::new());
    for _ in 0..CHECKPOINTS {
        let pushes =
            || Ok::<_, anyhow::Error>((push_seconds(&address, "count")?, push_seconds(&address, "sum")?));
        let (count, sum) = pushes()?;
        sender.send(SAMPLES_PER_CHECKPOINT)?;
        until("a checkpoint", || Ok(push_seconds(&address, "count")? > count))?;
        let (now, all) = pushes()?;
        seconds.push((all - sum) / (now - count));
        memory.push(resident(process.pid())?);
    }
    Ok((seconds, memory))
}

/// Sends generated samples.
struct SampleSender {
    to: UnixStream,
    from: BufReader<UnixStream>,
    state: u64,
    sent: usize,
}

impl SampleSender {
    fn new(socket: &Path) -> Result<Self> {
        let to = UnixStream::connect(socket)?;
        let from = BufReader::new(to.try_clone()?);
        Ok(Self { to, from, state: 1, sent: 0 })
    }

    fn send(&mut self, count: usize) -> Result<()> {
        for _ in 0..count {
            self.sent += 1;
            let [adm, motion, a, b, c, d] = std::array::from_fn(|_| self.next_random());
            let (job, score) = (self.sent, adm * 100.0);
            let features = format!("[{adm},{},{a},{b},{c},{d}]", motion * 20.0);
            writeln!(self.to, "{{\"job_id\":\"{job}\",\"features\":{features},\"true_score\":{score}}}")?;
            let mut response = String::new();
            self.from.read_line(&mut response)?;
            ensure!(response.starts_with("{\"ok\":true"), "{response}");
        }
        Ok(())
    }

    /// Pseudo-random number from 0 to below 1, the same in every run.
    fn next_random(&mut self) -> f64 {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f64::from(u16::try_from(self.state >> 48).unwrap_or_default()) / 65_536.0
    }
}

fn push_seconds(address: &str, what: &str) -> Result<f64> {
    metric(address, &format!("{PUSH_SECONDS}{what}"))
}

fn metric(address: &str, name: &str) -> Result<f64> {
    let page = page(address, "/metrics")?;
    let value = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
    value.with_context(|| format!("no {name}"))
}

fn page(address: &str, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: trainer\r\nConnection: close\r\n\r\n")?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    Ok(response)
}

fn until(what: &str, condition: impl Fn() -> Result<bool>) -> Result<()> {
    let deadline = Instant::now() + TIMEOUT;
    while !condition()? {
        if Instant::now() > deadline {
            bail!("waited {TIMEOUT:?} for {what}");
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn free_address() -> Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}
