//! What the daemon takes for a checkpoint, and what it holds in memory, with everything that it keeps for replay.

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

/// Seven in eight are kept for replay, ten thousand at most.
const FIRST: usize = 12_000;
/// Samples between two checkpoints.
const EACH: usize = 500;
const CHECKPOINTS: usize = 5;
const PATIENCE: Duration = Duration::from_mins(2);
const SECONDS: &str = "vmafx_trainer_checkpoint_push_seconds_";

/// Seconds of each checkpoint, from the snapshot to the registry's last answer, and megabytes at each.
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
            .env("VMAFX_TRAINER_CHECKPOINT_MIN_SAMPLES", EACH.to_string())
            .env("VMAFX_TRAINER_STATUS_ADDR", &address)
            .env("VMAFX_SIDECAR_SOCKET", &socket);
    let process = ChildProcess::start(&launch)?;
    until("the trainer", || Ok(page(&address, "/readyz").is_ok_and(|page| page.contains(" 200 "))))?;
    let mut viewer = Viewer::new(&socket)?;
    viewer.judge(FIRST)?;
    let pending = || metric(&address, "vmafx_trainer_samples_pending");
    until("the first checkpoints", || Ok(pending()? < 500.0))?;
    let (mut seconds, mut memory) = (Vec::new(), Vec::new());
    for _ in 0..CHECKPOINTS {
        let told = || Ok::<_, anyhow::Error>((written(&address, "count")?, written(&address, "sum")?));
        let (count, sum) = told()?;
        viewer.judge(EACH)?;
        until("a checkpoint", || Ok(written(&address, "count")? > count))?;
        let (now, all) = told()?;
        seconds.push((all - sum) / (now - count));
        memory.push(resident(process.pid())?);
    }
    Ok((seconds, memory))
}

/// Judges clips that were never filmed.
struct Viewer {
    to: UnixStream,
    from: BufReader<UnixStream>,
    chance: u64,
    judged: usize,
}

impl Viewer {
    fn new(socket: &Path) -> Result<Self> {
        let to = UnixStream::connect(socket)?;
        let from = BufReader::new(to.try_clone()?);
        Ok(Self { to, from, chance: 1, judged: 0 })
    }

    fn judge(&mut self, count: usize) -> Result<()> {
        for _ in 0..count {
            self.judged += 1;
            let [adm, motion, a, b, c, d] = std::array::from_fn(|_| self.share());
            let (job, score) = (self.judged, adm * 100.0);
            let features = format!("[{adm},{},{a},{b},{c},{d}]", motion * 20.0);
            writeln!(self.to, "{{\"job_id\":\"{job}\",\"features\":{features},\"true_score\":{score}}}")?;
            let mut answer = String::new();
            self.from.read_line(&mut answer)?;
            ensure!(answer.starts_with("{\"ok\":true"), "{answer}");
        }
        Ok(())
    }

    /// From 0 to below 1, the same in every run.
    fn share(&mut self) -> f64 {
        self.chance =
            self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f64::from(u16::try_from(self.chance >> 48).unwrap_or_default()) / 65_536.0
    }
}

fn written(address: &str, what: &str) -> Result<f64> {
    metric(address, &format!("{SECONDS}{what}"))
}

fn metric(address: &str, name: &str) -> Result<f64> {
    let page = page(address, "/metrics")?;
    let value = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
    value.with_context(|| format!("no {name}"))
}

fn page(address: &str, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: trainer\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn until(what: &str, is: impl Fn() -> Result<bool>) -> Result<()> {
    let end = Instant::now() + PATIENCE;
    while !is()? {
        if Instant::now() > end {
            bail!("waited {PATIENCE:?} for {what}");
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn free_address() -> Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}
