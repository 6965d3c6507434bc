//! Starts every server of the cluster after those it depends on, and supervises them.
//!
//! The first server that ends stops the cluster: a partial cluster would make tests fail for reasons that are hard to
//! find.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::process::Command;

use super::super::assets::{self, Assets, Binary};
use super::super::cluster::TestCluster;
use super::super::kubeconfig;
use super::super::process::{ChildCommand, ChildProcess};
use super::super::servers::ClusterFiles;
use super::config::{self, CONTAINERD_SOCKET, SANDBOX_IMAGE};
use super::error::{NodeError, ResultExt as _};
use super::network::{KUBERNETES_SERVICE, NODE_ADDRESS};
use super::state::StateDirectory;
use super::{BINARIES, NODE_NAME, cgroups, forward, mounts, network};
use vmafx_image::Image;

const READY_TIMEOUT: Duration = Duration::from_mins(1);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

// The network namespace is empty, so fixed ports are free.
const API_PORT: u16 = 6443;
const ETCD_PORT: u16 = 2379;
const CONTROLLERS_PORT: u16 = 10257;

pub(super) async fn run(host_state: &StateDirectory) -> Result<(), NodeError> {
    let started = Instant::now();
    let record = host_state
        .record()
        .ok_or_else(|| NodeError::NotRunning { state: host_state.directory().to_owned() })?;
    let assets = assets::ensure(&BINARIES)?;
    cgroups::create(&record.id).step("creating cgroups")?;
    mounts::set_up(host_state)?;
    network::set_up()?;

    let state = StateDirectory::inside();
    let directory = state.directory();
    let hosts = [
        "localhost",
        "127.0.0.1",
        NODE_ADDRESS,
        KUBERNETES_SERVICE,
        "kubernetes.default.svc",
        "kubernetes.default",
        "kubernetes",
    ];
    let files = ClusterFiles::create(directory, assets, &hosts)?;
    let kubelet = files.authority.server(
        &format!("system:node:{NODE_NAME}"),
        Some("system:nodes"),
        &[NODE_NAME, NODE_ADDRESS],
    )?;
    config::write(directory, &record.id, &kubelet, mounts::overlay_works()).step("writing configuration")?;
    let inside = directory.join("inside.kubeconfig");
    let local = format!("https://127.0.0.1:{API_PORT}");
    kubeconfig::write(&inside, &local, &files.authority, &files.admin).step("writing a kubeconfig")?;
    kubeconfig::write(&directory.join("kubelet.kubeconfig"), &local, &files.authority, &kubelet)
        .step("writing a kubeconfig")?;

    let mut servers = RunningServers { started, running: Vec::new() };
    servers.start(&files.etcd(ETCD_PORT))?;
    servers.start(&containerd(&files))?;
    let mut api_server = ChildProcess::start(&api_server(&files))?;
    load_sandbox_image(&files.assets, directory).await?;
    servers.log("containerd has the sandbox image");

    let client = TestCluster::disposable(&inside).await?.client()?;
    api_server.ready(READY_TIMEOUT, || super::super::control_plane::ready(&client)).await?;
    servers.running.push(api_server);
    servers.log("the API server is ready");
    let listener = UnixListener::bind(state.socket()).step("listening on the socket")?;
    let host = format!("https://127.0.0.1:{}", record.port);
    kubeconfig::write(&state.kubeconfig(), &host, &files.authority, &files.admin)
        .step("writing a kubeconfig")?;

    servers.start(&kubelet_command(&files))?;
    servers.start(&files.controller_manager(CONTROLLERS_PORT, &inside))?;
    servers.start(&scheduler(&files, &inside))?;
    servers.start(&files.command(Binary::CoreDns).path("-conf", directory.join("Corefile")))?;
    servers.start(&proxy(&files))?;

    let startup = async {
        servers.wait_for_listener("kube-proxy", ("127.0.0.1", 10256)).await?;
        servers.wait_for_listener("DNS", (NODE_ADDRESS, 53)).await?;
        servers.log("kube-proxy and DNS are up");
        fs::write(state.ready_marker(), "").step("writing the ready marker")?;
        servers.watch().await
    };
    tokio::select! {
        result = forward::socket_to_port(&listener, API_PORT) => result.step("forwarding connections"),
        result = startup => result,
    }
}

fn api_server(files: &ClusterFiles) -> ChildCommand {
    files
        .api_server(API_PORT, ETCD_PORT, "0.0.0.0")
        .arg("--authorization-mode=Node,RBAC")
        .arg(format!("--advertise-address={NODE_ADDRESS}"))
        .path("--kubelet-client-certificate", &files.admin.certificate)
        .path("--kubelet-client-key", &files.admin.key)
        .path("--kubelet-certificate-authority", files.authority.certificate())
        // The default, by name, cannot be resolved: `kubectl logs` and `exec` would fail.
        .arg("--kubelet-preferred-address-types=InternalIP")
}

fn containerd(files: &ClusterFiles) -> ChildCommand {
    // containerd looks for its shim, and the shim for runc, in PATH.
    let shim = files.assets.path(Binary::ContainerdShim).parent().unwrap_or(Path::new("/"));
    let mut path = OsString::from(shim);
    path.push(":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:");
    path.push(env::var_os("PATH").unwrap_or_default());
    files
        .command(Binary::Containerd)
        .arg("--config")
        .arg(files.directory.join("containerd.toml"))
        .env("PATH", path)
}

fn kubelet_command(files: &ClusterFiles) -> ChildCommand {
    files
        .command(Binary::Kubelet)
        .path("--config", files.directory.join("kubelet.json"))
        .path("--kubeconfig", files.directory.join("kubelet.kubeconfig"))
        .path("--root-dir", files.directory.join("kubelet"))
        .arg(format!("--hostname-override={NODE_NAME}"))
        .arg(format!("--node-ip={NODE_ADDRESS}"))
}

fn scheduler(files: &ClusterFiles, kubeconfig: &Path) -> ChildCommand {
    files.command(Binary::KubeScheduler).path("--kubeconfig", kubeconfig).arg("--leader-elect=false")
}

fn proxy(files: &ClusterFiles) -> ChildCommand {
    files
        .command(Binary::KubeProxy)
        .path("--config", files.directory.join("kube-proxy.json"))
        .arg(format!("--hostname-override={NODE_NAME}"))
}

/// Waits for containerd and loads the sandbox image, which every Pod needs.
async fn load_sandbox_image(assets: &Assets, directory: &Path) -> Result<(), NodeError> {
    let tar = directory.join("pause.tar");
    let image =
        Image::new(SANDBOX_IMAGE).file("/pause", assets.path(Binary::Pause), 0o755).entrypoint(["/pause"]);
    image.user("65535:65535").write(&tar)?;
    let connect = || UnixStream::connect(CONTAINERD_SOCKET);
    let waited = crate::wait::until(READY_TIMEOUT, "containerd", connect).await;
    waited.map_err(|source| NodeError::NotReady { log: String::new(), source })?;
    let import = Command::new(assets.path(Binary::Ctr))
        .args(["--address", CONTAINERD_SOCKET, "--namespace", "k8s.io", "images", "import"])
        .arg(&tar)
        .stdin(Stdio::null())
        .output()
        .await
        .step("running ctr")?;
    let _ = fs::remove_file(&tar);
    if import.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&import.stderr).trim().to_owned();
    Err(NodeError::Command { command: "ctr images import".to_owned(), output: stderr })
}

struct RunningServers {
    started: Instant,
    running: Vec<ChildProcess>,
}

impl RunningServers {
    fn start(&mut self, command: &ChildCommand) -> Result<(), NodeError> {
        self.running.push(ChildProcess::start(command)?);
        Ok(())
    }

    /// Writes to the supervisor's log, with the time since the start.
    fn log(&self, what: &str) {
        eprintln!("{:6.2} s  {what}", self.started.elapsed().as_secs_f64());
    }

    /// Waits until something listens, or any server ends.
    async fn wait_for_listener(&mut self, what: &str, address: (&str, u16)) -> Result<(), NodeError> {
        let listening = crate::wait::until(READY_TIMEOUT, what, || TcpStream::connect(address));
        tokio::select! {
            waited = listening => {
                waited.map(drop).map_err(|source| NodeError::NotReady { log: String::new(), source })
            }
            result = self.watch() => result,
        }
    }

    /// Returns the error of the first server that ends.
    async fn watch(&mut self) -> Result<(), NodeError> {
        loop {
            if let Some(error) = self.running.iter_mut().find_map(ChildProcess::ended) {
                return Err(error.into());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}
