//! A whole node, from its owner's side.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::net::SocketAddr;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::Api;
use rustix::process::{Pid, Signal, kill_process};

use super::super::assets::{self, Binary};
use super::super::cluster::TestCluster;
use super::super::probe::{ProbeResult, probe};
use super::config::CONTAINERD_SOCKET;
use super::error::{NodeError, ResultExt as _};
use super::role::{ProcessRole, RoleLauncher};
use super::state::StateDirectory;
use super::{BINARIES, DETACH, HostForward, NODE_NAME, PolicyEnforcement, mounts, namespace, reaper};
use crate::wait;

/// Generous: a start usually takes ten seconds, but the machine may be busy.
const READY_TIMEOUT: Duration = Duration::from_mins(2);
const STOP_TIMEOUT: Duration = Duration::from_mins(1);

/// A running cluster with one node. Dropping it stops it and waits until nothing is left. It dereferences to [`TestCluster`].
#[derive(Debug)]
pub struct WholeNode {
    cluster: TestCluster,
    state: StateDirectory,
    supervisor: Supervisor,
}

impl Deref for WholeNode {
    type Target = TestCluster;

    fn deref(&self) -> &TestCluster {
        &self.cluster
    }
}

/// The supervisor process. Dropping it stops the process and waits for it.
#[derive(Debug)]
struct Supervisor {
    process: Child,
    /// Kept open, because the file is removed soon after a supervisor fails, which is when it is needed.
    log: File,
    state: StateDirectory,
}

impl WholeNode {
    /// Starts a cluster with its files below `base`, and returns when its node is ready and DNS answers.
    pub async fn start(base: &Path, launcher: &RoleLauncher) -> Result<Self, NodeError> {
        if let ProbeResult::Impossible(why) = probe() {
            return Err(NodeError::Impossible(why));
        }
        let state = StateDirectory::new(base)?;
        if state.is_running()? && running_supervisor(&state).is_some() {
            return Err(NodeError::AlreadyRunning { state: state.directory().to_owned() });
        }
        // Here and not in the supervisor: a build may take minutes, and its progress is shown on the owner's terminal.
        let ensured = tokio::task::spawn_blocking(|| assets::ensure(&BINARIES)).await;
        ensured.map_err(io::Error::other).step("looking for programs")??;

        let lock = acquire(&state).await?;
        // For what a killed reaper left behind.
        reaper::sweep(&state)?;
        let mut supervisor = Supervisor::start(&state, launcher, lock)?;
        let cluster = supervisor.ready().await?;
        Ok(Self { cluster, state, supervisor })
    }

    pub fn state(&self) -> &StateDirectory {
        &self.state
    }

    /// The supervisor's process id.
    pub fn supervisor(&self) -> u32 {
        self.supervisor.process.id()
    }

    /// Lets the cluster outlive its owner. [`stop`] stops it.
    pub fn detach(mut self) -> Result<(), NodeError> {
        let pipe = self.supervisor.process.stdin.as_mut();
        pipe.map_or(Ok(()), |pipe| pipe.write_all(&[DETACH])).step("detaching from the supervisor")?;
        // Not dropped, hence not stopped.
        std::mem::forget(self.supervisor);
        Ok(())
    }

    /// Loads an image that [`vmafx_image::Image`] wrote, so that Pods can use it.
    pub fn load_image(&self, tar: &Path) -> Result<(), NodeError> {
        load_image(&self.state, tar)
    }

    /// Kills the first process of a container, like a crash. `id` is the one in the Pod's status, without the scheme.
    pub fn kill_container(&self, id: &str) -> Result<(), NodeError> {
        self.signal_container(id, "SIGKILL")
    }

    /// Sends a signal to the first process of a container.
    pub fn signal_container(&self, id: &str, signal: &str) -> Result<(), NodeError> {
        ctr(&self.state, &["tasks", "kill", "--signal", signal, id], Stdio::null())
    }

    /// Runs a program of this machine inside the cluster's namespaces, where Pods and Services can be reached.
    pub fn run(&self, program: &str, args: &[&str]) -> Result<Output, NodeError> {
        enter(&self.state, program)?.args(args).stdin(Stdio::null()).output().step("running nsenter")
    }

    /// A command that runs a program inside the cluster's namespaces.
    pub fn command(&self, program: &str) -> Result<Command, NodeError> {
        enter(&self.state, program)
    }

    /// Enforces `NetworkPolicies` until the returned value is dropped.
    pub async fn enforce_policies(&self) -> Result<PolicyEnforcement, NodeError> {
        PolicyEnforcement::enforce(&self.state).await
    }

    /// Lets Pods reach a server on this machine's loopback. Must be called in a tokio runtime, which forwards.
    pub fn forward_to_host(&self, server: SocketAddr) -> Result<HostForward, NodeError> {
        let first = namespace::first(&self.state);
        let first =
            first.ok_or_else(|| NodeError::NotRunning { state: self.state.directory().to_owned() })?;
        HostForward::open(first, server).step("listening inside")
    }

    /// The paths of a directory for a volume of Pods, on the host and on the node. It is not created, but removed with the
    /// cluster.
    pub fn volume(&self, name: &str) -> [PathBuf; 2] {
        [self.state.directory(), Path::new(mounts::STATE_INSIDE)]
            .map(|state| state.join("volumes").join(name))
    }
}

/// Takes the lock, waiting for a reaper that is cleaning up, but not for a running cluster.
async fn acquire(state: &StateDirectory) -> Result<File, NodeError> {
    let waited = wait::until(STOP_TIMEOUT, "the previous cluster to be removed", || async {
        match state.lock() {
            Ok(None) if running_supervisor(state).is_none() => Err("it is being cleaned up"),
            Ok(None) => Ok(Err(NodeError::AlreadyRunning { state: state.directory().to_owned() })),
            Ok(Some(lock)) => Ok(Ok(lock)),
            Err(error) => Ok(Err(error)),
        }
    });
    waited.await.unwrap_or_else(|source| Err(NodeError::NotEnding(source)))
}

impl Supervisor {
    /// Its output is the lock, which it and the reaper hold from now on; see the module `state`.
    fn start(state: &StateDirectory, launcher: &RoleLauncher, lock: File) -> Result<Self, NodeError> {
        state.create().step("creating the state directory")?;
        let log = File::options().create(true).read(true).append(true).open(state.supervisor_log());
        let log = log.step("opening the log")?;
        let process = launcher
            .command(ProcessRole::Supervise, state)
            .stdin(Stdio::piped())
            .stdout(lock)
            .stderr(log.try_clone().step("opening the log")?)
            .spawn()
            .step("starting the supervisor")?;
        Ok(Self { process, log, state: state.clone() })
    }

    async fn ready(&mut self) -> Result<TestCluster, NodeError> {
        let state = self.state.clone();
        let waited = wait::until(READY_TIMEOUT, "the node to be ready", || {
            let ended = self.process.try_wait().ok().flatten().is_some();
            let state = &state;
            async move { if ended { Ok(None) } else { node_is_ready(state).await.map(Some) } }
        });
        match waited.await {
            Ok(Some(cluster)) => Ok(cluster),
            Ok(None) => Err(NodeError::Ended { log: self.log_tail() }),
            Err(source) => Err(NodeError::NotReady { log: self.log_tail(), source }),
        }
    }

    fn log_tail(&mut self) -> String {
        let mut log = String::new();
        let _ = self.log.rewind().and_then(|()| self.log.read_to_string(&mut log));
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
        // The reaper is not a child of this process: the lock tells when it is done.
        let _ = wait_until_free(&self.state);
    }
}

async fn node_is_ready(state: &StateDirectory) -> Result<TestCluster, String> {
    let path = state.kubeconfig();
    if !path.exists() {
        return Err("no API server yet".to_owned());
    }
    let cluster = TestCluster::disposable(&path).await.map_err(|error| error.to_string())?;
    let client = cluster.client().map_err(|error| error.to_string())?;
    let node = Api::<Node>::all(client).get(NODE_NAME).await.map_err(|error| error.to_string())?;
    let conditions = node.status.and_then(|status| status.conditions).unwrap_or_default();
    let ready = conditions.into_iter().find(|condition| condition.type_ == "Ready");
    match ready {
        Some(ready) if ready.status == "True" => {}
        Some(ready) => return Err(ready.message.unwrap_or_default()),
        None => return Err("the node has not reported".to_owned()),
    }
    if state.ready_marker().exists() { Ok(cluster) } else { Err("waiting for DNS".to_owned()) }
}

/// Stops the cluster in a state directory, whoever started it, and returns when nothing is left. Returns whether one was
/// running.
pub fn stop(state: &StateDirectory) -> Result<bool, NodeError> {
    let running = state.is_running()?;
    if running && let Some(supervisor) = running_supervisor(state) {
        kill_process(supervisor, Signal::TERM).step("stopping the supervisor")?;
    }
    wait_until_free(state)?;
    if state.directory().exists()
        && let Some(lock) = state.lock()?
    {
        // For what a killed reaper left behind.
        reaper::sweep(state)?;
        drop(lock);
    }
    Ok(running)
}

/// The supervisor, if it runs. Its id may belong to another process by now, so the command line is checked.
fn running_supervisor(state: &StateDirectory) -> Option<Pid> {
    let supervisor = state.record().and_then(|record| Pid::from_raw(record.supervisor))?;
    let line = fs::read(format!("/proc/{}/cmdline", supervisor.as_raw_nonzero())).ok()?;
    let base = state.directory().parent()?.as_os_str().as_encoded_bytes();
    line.split(|byte| *byte == 0).any(|word| word == base).then_some(supervisor)
}

/// Loads an image into the cluster of a state directory.
pub fn load_image(state: &StateDirectory, tar: &Path) -> Result<(), NodeError> {
    // Through the input, because the path may mean another file inside.
    let image = File::open(tar).step("opening the image")?;
    ctr(state, &["images", "import", "-"], image.into())
}

/// Runs `ctr` against the containerd of a cluster.
fn ctr(state: &StateDirectory, args: &[&str], input: Stdio) -> Result<(), NodeError> {
    let Ok(assets::AssetLocation::Ready(ctr)) = assets::locate(Binary::Ctr) else {
        return Err(NodeError::NotRunning { state: state.directory().to_owned() });
    };
    let output = enter(state, &ctr.to_string_lossy())?
        .args(["--address", CONTAINERD_SOCKET, "--namespace", "k8s.io"])
        .args(args)
        .stdin(input)
        .output()
        .step("running nsenter")?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(NodeError::Command { command: format!("ctr {}", args.join(" ")), output: stderr })
}

pub(super) fn enter(state: &StateDirectory, program: &str) -> Result<Command, NodeError> {
    let first = namespace::first(state);
    let first = first.ok_or_else(|| NodeError::NotRunning { state: state.directory().to_owned() })?;
    Ok(namespace::enter(first, program))
}

fn wait_until_free(state: &StateDirectory) -> Result<(), NodeError> {
    let end = std::time::Instant::now() + STOP_TIMEOUT;
    while state.is_running()? {
        if std::time::Instant::now() > end {
            let what = format!("the lock of {} to be released", state.directory().display());
            return Err(NodeError::NotEnding(wait::TimedOut { what, waited: STOP_TIMEOUT, last_seen: None }));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// The base directory of clusters that belong to a user rather than to a test.
pub fn default_base() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("VMAFX_STATE_DIR")
        .or_else(|| set("XDG_STATE_HOME").map(|base| base.join("vmafx")))
        .or_else(|| set("HOME").map(|home| home.join(".local/state/vmafx")))
}
