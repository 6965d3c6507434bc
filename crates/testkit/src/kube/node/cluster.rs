//! Starts every server of the cluster, in the order in which each finds what it needs, and watches over them.
//!
//! The first server that ends takes the cluster with it: half a cluster makes tests fail for reasons that nobody finds.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::process::Command;

use super::super::assets::{self, Assets, Binary};
use super::super::cluster::Cluster;
use super::super::kubeconfig;
use super::super::process::{Launch, Process};
use super::super::servers::Base;
use super::config::{self, CONTAINERD_SOCKET, SANDBOX};
use super::error::{NodeError, Step as _};
use super::network::{KUBERNETES_SERVICE, NODE};
use super::state::State;
use super::{BINARIES, NODE_NAME, cgroups, forward, mounts, network};
use vmafx_image::Image;

const READY: Duration = Duration::from_mins(1);
const LOOK: Duration = Duration::from_millis(100);

// Nobody else is in the network namespace, so ports need no looking for.
const API_PORT: u16 = 6443;
const ETCD_PORT: u16 = 2379;
const CONTROLLERS_PORT: u16 = 10257;

pub(super) async fn run(outside: &State) -> Result<(), NodeError> {
    let clock = Instant::now();
    let record =
        outside.record().ok_or_else(|| NodeError::NotRunning { state: outside.directory().to_owned() })?;
    let assets = assets::ensure(&BINARIES)?;
    cgroups::create(&record.id).step("making cgroups")?;
    mounts::set_up(outside)?;
    network::set_up()?;

    let state = State::inside();
    let directory = state.directory();
    let hosts = [
        "localhost",
        "127.0.0.1",
        NODE,
        KUBERNETES_SERVICE,
        "kubernetes.default.svc",
        "kubernetes.default",
        "kubernetes",
    ];
    let base = Base::create(directory, assets, &hosts)?;
    let kubelet = base.authority.server(
        &format!("system:node:{NODE_NAME}"),
        Some("system:nodes"),
        &[NODE_NAME, NODE],
    )?;
    config::write(directory, &record.id, &kubelet, mounts::overlay_works()).step("writing configuration")?;
    let inside = directory.join("inside.kubeconfig");
    let local = format!("https://127.0.0.1:{API_PORT}");
    kubeconfig::write(&inside, &local, &base.authority, &base.admin).step("writing a kubeconfig")?;
    kubeconfig::write(&directory.join("kubelet.kubeconfig"), &local, &base.authority, &kubelet)
        .step("writing a kubeconfig")?;

    let mut servers = Servers { clock, running: Vec::new() };
    servers.start(&base.etcd(ETCD_PORT))?;
    servers.start(&containerd(&base))?;
    let mut api_server = Process::start(&api_server(&base))?;
    load_sandbox_image(&base.assets, directory).await?;
    servers.say("containerd has the sandbox image");

    let client = Cluster::disposable(&inside).await?.client()?;
    api_server.ready(READY, || super::super::control_plane::ready(&client)).await?;
    servers.running.push(api_server);
    servers.say("the API server is ready");
    let listener = UnixListener::bind(state.socket()).step("listening on the socket")?;
    let host = format!("https://127.0.0.1:{}", record.port);
    kubeconfig::write(&state.kubeconfig(), &host, &base.authority, &base.admin)
        .step("writing a kubeconfig")?;

    servers.start(&kubelet_launch(&base))?;
    servers.start(&base.controller_manager(CONTROLLERS_PORT, &inside))?;
    servers.start(&scheduler(&base, &inside))?;
    servers.start(&base.launch(Binary::CoreDns).path("-conf", directory.join("Corefile")))?;
    servers.start(&proxy(&base))?;

    let started = async {
        servers.listening("kube-proxy", ("127.0.0.1", 10256)).await?;
        servers.listening("DNS", (NODE, 53)).await?;
        servers.say("kube-proxy and DNS are up");
        fs::write(state.ready_marker(), "").step("writing the marker")?;
        servers.watch().await
    };
    tokio::select! {
        result = forward::socket_to_port(&listener, API_PORT) => result.step("forwarding connections"),
        result = started => result,
    }
}

fn api_server(base: &Base) -> Launch {
    base.api_server(API_PORT, ETCD_PORT, "0.0.0.0")
        .arg("--authorization-mode=Node,RBAC")
        .arg(format!("--advertise-address={NODE}"))
        .path("--kubelet-client-certificate", &base.admin.certificate)
        .path("--kubelet-client-key", &base.admin.key)
        .path("--kubelet-certificate-authority", base.authority.certificate())
        // By name, which is the default, the node cannot be found: `kubectl logs` and `exec` would fail.
        .arg("--kubelet-preferred-address-types=InternalIP")
}

fn containerd(base: &Base) -> Launch {
    // It looks for its shim, and the shim for runc, in PATH.
    let shim = base.assets.path(Binary::ContainerdShim).parent().unwrap_or(Path::new("/"));
    let mut path = OsString::from(shim);
    path.push(":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:");
    path.push(env::var_os("PATH").unwrap_or_default());
    base.launch(Binary::Containerd)
        .arg("--config")
        .arg(base.directory.join("containerd.toml"))
        .env("PATH", path)
}

fn kubelet_launch(base: &Base) -> Launch {
    base.launch(Binary::Kubelet)
        .path("--config", base.directory.join("kubelet.json"))
        .path("--kubeconfig", base.directory.join("kubelet.kubeconfig"))
        .path("--root-dir", base.directory.join("kubelet"))
        .arg(format!("--hostname-override={NODE_NAME}"))
        .arg(format!("--node-ip={NODE}"))
}

fn scheduler(base: &Base, kubeconfig: &Path) -> Launch {
    base.launch(Binary::KubeScheduler).path("--kubeconfig", kubeconfig).arg("--leader-elect=false")
}

fn proxy(base: &Base) -> Launch {
    base.launch(Binary::KubeProxy)
        .path("--config", base.directory.join("kube-proxy.json"))
        .arg(format!("--hostname-override={NODE_NAME}"))
}

/// Waits for containerd and gives it the one image that it cannot do without.
async fn load_sandbox_image(assets: &Assets, directory: &Path) -> Result<(), NodeError> {
    let tar = directory.join("pause.tar");
    let image = Image::new(SANDBOX).file("/pause", assets.path(Binary::Pause), 0o755).entrypoint(["/pause"]);
    image.user("65535:65535").write(&tar)?;
    let connect = || UnixStream::connect(CONTAINERD_SOCKET);
    let waited = crate::wait::until(READY, "containerd", connect).await;
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

/// What runs, and since when.
struct Servers {
    clock: Instant,
    running: Vec<Process>,
}

impl Servers {
    fn start(&mut self, launch: &Launch) -> Result<(), NodeError> {
        self.running.push(Process::start(launch)?);
        Ok(())
    }

    /// To the keeper's log, where the time of each step is what one looks for first.
    fn say(&self, what: &str) {
        eprintln!("{:6.2} s  {what}", self.clock.elapsed().as_secs_f64());
    }

    /// Waits until something listens, or any server ends.
    async fn listening(&mut self, what: &str, address: (&str, u16)) -> Result<(), NodeError> {
        let listening = crate::wait::until(READY, what, || TcpStream::connect(address));
        tokio::select! {
            waited = listening => {
                waited.map(drop).map_err(|source| NodeError::NotReady { log: String::new(), source })
            }
            result = self.watch() => result,
        }
    }

    /// Returns, with the reason, when any server has ended.
    async fn watch(&mut self) -> Result<(), NodeError> {
        loop {
            if let Some(error) = self.running.iter_mut().find_map(Process::ended) {
                return Err(error.into());
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}
