//! A whole node, as its owner sees it.

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
use super::super::cluster::Cluster;
use super::super::probe::{Verdict, probe};
use super::config::CONTAINERD_SOCKET;
use super::error::{NodeError, Step as _};
use super::role::{Launcher, Role};
use super::state::State;
use super::{BINARIES, DETACH, NODE_NAME, Outside, mounts, namespace, reaper};
use crate::wait;

/// Generous: the usual is ten seconds, but a machine may be busy with other things.
const READY: Duration = Duration::from_mins(2);
const GONE: Duration = Duration::from_mins(1);

/// A running cluster with one node. Dropping it ends it and waits until nothing is left.
///
/// It is reached through [`Cluster`], to which it dereferences.
#[derive(Debug)]
pub struct WholeNode {
    cluster: Cluster,
    state: State,
    keeper: Keeper,
}

impl Deref for WholeNode {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.cluster
    }
}

/// The keeper's process; dropped, it is told to end, and waited for.
#[derive(Debug)]
struct Keeper {
    process: Child,
    /// Open, because the file is removed soon after a keeper that fails, and then is when it is wanted.
    log: File,
    state: State,
}

impl WholeNode {
    /// Starts a cluster whose files are below `base`, and returns when its node is ready and DNS answers.
    pub async fn start(base: &Path, launcher: &Launcher) -> Result<Self, NodeError> {
        if let Verdict::Impossible(why) = probe() {
            return Err(NodeError::Impossible(why));
        }
        let state = State::new(base)?;
        if state.is_running()? && living_keeper(&state).is_some() {
            return Err(NodeError::AlreadyRunning { state: state.directory().to_owned() });
        }
        // Here and not in the keeper: it may take minutes, and the owner's terminal is where progress is seen.
        let ensured = tokio::task::spawn_blocking(|| assets::ensure(&BINARIES)).await;
        ensured.map_err(io::Error::other).step("looking for programs")??;

        let lock = take(&state).await?;
        // Left by a reaper that was killed.
        reaper::sweep(&state)?;
        let mut keeper = Keeper::start(&state, launcher, lock)?;
        let cluster = keeper.ready().await?;
        Ok(Self { cluster, state, keeper })
    }

    /// Its files.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The keeper's process id.
    pub fn keeper(&self) -> u32 {
        self.keeper.process.id()
    }

    /// Lets the cluster run on after its owner's end. [`stop`] ends it.
    pub fn detach(mut self) -> Result<(), NodeError> {
        let pipe = self.keeper.process.stdin.as_mut();
        pipe.map_or(Ok(()), |pipe| pipe.write_all(&[DETACH])).step("telling the keeper to stay")?;
        // Not dropped, hence not ended. The process is nobody's child once we end, which is the point.
        std::mem::forget(self.keeper);
        Ok(())
    }

    /// Loads an image, as [`vmafx_image::Image`] writes it, so that Pods can use it.
    pub fn load_image(&self, tar: &Path) -> Result<(), NodeError> {
        load_image(&self.state, tar)
    }

    /// Runs a program of this machine inside the cluster's namespaces, where Pods and Services can be reached.
    pub fn run(&self, program: &str, args: &[&str]) -> Result<Output, NodeError> {
        enter(&self.state, program)?.args(args).stdin(Stdio::null()).output().step("running nsenter")
    }

    /// Lets Pods reach a server on this machine's loopback. Needs a runtime, in which it forwards.
    pub fn outside(&self, server: SocketAddr) -> Result<Outside, NodeError> {
        let first = namespace::first(&self.state);
        let first =
            first.ok_or_else(|| NodeError::NotRunning { state: self.state.directory().to_owned() })?;
        Outside::open(first, server).step("listening inside")
    }

    /// A directory for a volume of Pods: where it is on this machine, and where the node sees it. It is not made, and
    /// removed with the cluster.
    pub fn volume(&self, name: &str) -> [PathBuf; 2] {
        [self.state.directory(), Path::new(mounts::INSIDE)].map(|state| state.join("volumes").join(name))
    }
}

/// Takes the state, waiting for a reaper that is about to let go of it, but not for a cluster that runs.
async fn take(state: &State) -> Result<File, NodeError> {
    let waited = wait::until(GONE, "the last cluster to be gone", || async {
        match state.lock() {
            Ok(None) if living_keeper(state).is_none() => Err("it is being cleaned up"),
            Ok(None) => Ok(Err(NodeError::AlreadyRunning { state: state.directory().to_owned() })),
            Ok(Some(lock)) => Ok(Ok(lock)),
            Err(error) => Ok(Err(error)),
        }
    });
    waited.await.unwrap_or_else(|source| Err(NodeError::NotEnding(source)))
}

impl Keeper {
    /// Its output is the lock, which it and the reaper hold from now on; see [`State`].
    fn start(state: &State, launcher: &Launcher, lock: File) -> Result<Self, NodeError> {
        state.create().step("making the state directory")?;
        let log = File::options().create(true).read(true).append(true).open(state.keeper_log());
        let log = log.step("opening the log")?;
        let process = launcher
            .command(Role::Keep, state)
            .stdin(Stdio::piped())
            .stdout(lock)
            .stderr(log.try_clone().step("opening the log")?)
            .spawn()
            .step("starting the keeper")?;
        Ok(Self { process, log, state: state.clone() })
    }

    async fn ready(&mut self) -> Result<Cluster, NodeError> {
        let state = self.state.clone();
        let waited = wait::until(READY, "the node to be ready", || {
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

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
        // The reaper is not our child: its lock tells when it is done.
        let _ = wait_until_free(&self.state);
    }
}

async fn node_is_ready(state: &State) -> Result<Cluster, String> {
    let path = state.kubeconfig();
    if !path.exists() {
        return Err("no API server yet".to_owned());
    }
    let cluster = Cluster::disposable(&path).await.map_err(|error| error.to_string())?;
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

/// Ends the cluster of a state, whoever started it, and returns when nothing is left. Whether there was one.
pub fn stop(state: &State) -> Result<bool, NodeError> {
    let running = state.is_running()?;
    if running && let Some(keeper) = living_keeper(state) {
        kill_process(keeper, Signal::TERM).step("ending the keeper")?;
    }
    wait_until_free(state)?;
    if state.directory().exists()
        && let Some(lock) = state.lock()?
    {
        // Left by a reaper that was killed.
        reaper::sweep(state)?;
        drop(lock);
    }
    Ok(running)
}

/// The keeper, if it lives. By now its number may be another process's, so its command line is looked at.
fn living_keeper(state: &State) -> Option<Pid> {
    let keeper = state.record().and_then(|record| Pid::from_raw(record.keeper))?;
    let line = fs::read(format!("/proc/{}/cmdline", keeper.as_raw_nonzero())).ok()?;
    let base = state.directory().parent()?.as_os_str().as_encoded_bytes();
    line.split(|byte| *byte == 0).any(|word| word == base).then_some(keeper)
}

/// Loads an image into the cluster of a state.
pub fn load_image(state: &State, tar: &Path) -> Result<(), NodeError> {
    let Ok(assets::Place::Ready(ctr)) = assets::locate(Binary::Ctr) else {
        return Err(NodeError::NotRunning { state: state.directory().to_owned() });
    };
    // Through its input: the file's path may mean something else inside.
    let image = File::open(tar).step("opening the image")?;
    let output = enter(state, &ctr.to_string_lossy())?
        .args(["--address", CONTAINERD_SOCKET, "--namespace", "k8s.io", "images", "import", "-"])
        .stdin(image)
        .output()
        .step("running nsenter")?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(NodeError::Command { command: "ctr images import".to_owned(), output: stderr })
}

fn enter(state: &State, program: &str) -> Result<Command, NodeError> {
    let first = namespace::first(state);
    let first = first.ok_or_else(|| NodeError::NotRunning { state: state.directory().to_owned() })?;
    Ok(namespace::enter(first, program))
}

fn wait_until_free(state: &State) -> Result<(), NodeError> {
    let end = std::time::Instant::now() + GONE;
    while state.is_running()? {
        if std::time::Instant::now() > end {
            let what = format!("{} to be let go", state.directory().display());
            return Err(NodeError::NotEnding(wait::TimedOut { what, waited: GONE, last_seen: None }));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Where clusters live that belong to a user rather than to a test.
pub fn default_base() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("VMAFX_STATE_DIR")
        .or_else(|| set("XDG_STATE_HOME").map(|base| base.join("vmafx")))
        .or_else(|| set("HOME").map(|home| home.join(".local/state/vmafx")))
}
