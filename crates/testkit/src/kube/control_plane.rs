//! The first shape: etcd and an API server on loopback.
//!
//! Ports are chosen by asking the system for free ones and letting go of them again, so somebody else may take one
//! before the server does. The server then ends with "address already in use", and everything is tried again with
//! other ports. A mix-up with somebody else's server cannot happen: every cluster has its own authority.

mod shared;

use std::io;
use std::net::TcpListener;
use std::ops::Deref;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;

use super::assets::{self, AssetError, Assets, Binary};
use super::cluster::{Cluster, ClusterError};
use super::kubeconfig;
use super::pki::PkiError;
use super::process::{Launch, Process, ProcessError};
use super::scratch::Scratch;
use super::servers::{Audit, Base};
pub use shared::KUBECONFIG_VARIABLE;

/// Generous: the usual is four seconds, but a machine may be busy with other things.
const READY: Duration = Duration::from_mins(1);

const ATTEMPTS: usize = 5;

/// Why there is no control plane.
#[derive(Debug, thiserror::Error)]
pub enum ControlPlaneError {
    /// A program is missing.
    #[error("the control plane's programs are not there")]
    Assets(#[from] AssetError),
    /// Certificates.
    #[error("the control plane's certificates could not be made")]
    Pki(#[from] PkiError),
    /// A server did not start.
    #[error("the control plane did not start")]
    Process(#[from] ProcessError),
    /// It started but cannot be used.
    #[error("the control plane cannot be used")]
    Cluster(#[from] ClusterError),
    /// Files, directories, ports.
    #[error("the control plane's files could not be made")]
    Files(#[from] io::Error),
}

/// What to start beyond etcd and the API server.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Garbage collection, namespace deletion, `StatefulSet`s, Jobs. Without it tests play those parts.
    pub controller_manager: bool,
    /// What the API server writes to its audit log.
    pub audit: Audit,
    /// More arguments for the API server.
    pub api_server_args: Vec<String>,
}

/// A control plane of one's own. Dropping it ends it.
///
/// It is reached through [`Cluster`], to which it dereferences.
#[derive(Debug)]
pub struct ControlPlane {
    cluster: Cluster,
    // In the order in which they must end: clients before servers, files last.
    controller_manager: Option<Process>,
    api_server: Process,
    api_server_launch: Launch,
    etcd: Process,
    audit_log: Option<PathBuf>,
    #[expect(dead_code, reason = "removes the directory when dropped")]
    scratch: Scratch,
}

impl Deref for ControlPlane {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.cluster
    }
}

impl ControlPlane {
    /// Starts one and returns when it is ready.
    pub async fn start(options: Options) -> Result<Self, ControlPlaneError> {
        Self::start_on(options, free_ports).await
    }

    async fn start_on(
        options: Options,
        mut ports: impl FnMut() -> io::Result<Ports>,
    ) -> Result<Self, ControlPlaneError> {
        let mut wanted = vec![Binary::Etcd, Binary::KubeApiserver];
        wanted.extend(options.controller_manager.then_some(Binary::KubeControllerManager));
        let ensured = tokio::task::spawn_blocking(move || assets::ensure(&wanted)).await;
        let assets = ensured.map_err(io::Error::other)??;

        let mut attempt = 1;
        loop {
            match Self::attempt(&options, assets.clone(), ports()?).await {
                Err(ControlPlaneError::Process(ProcessError::Ended { log, .. }))
                    if attempt < ATTEMPTS && log.contains("address already in use") =>
                {
                    tracing::debug!(attempt, "a port was taken by somebody else; trying others");
                    attempt += 1;
                }
                other => return other,
            }
        }
    }

    /// The cluster that all tests of this run share; started by the first that asks, unless the environment
    /// names one. It has no controller manager, so tests play the built-in controllers' parts undisturbed.
    pub async fn shared() -> Result<&'static Cluster, ControlPlaneError> {
        shared::cluster().await
    }

    async fn attempt(options: &Options, assets: Assets, ports: Ports) -> Result<Self, ControlPlaneError> {
        let scratch = Scratch::create()?;
        let base = Base::create(scratch.path(), assets, &["localhost", "127.0.0.1"])?;
        let [etcd_port, port, controllers_port] = ports;
        let path = scratch.path().join("kubeconfig");
        kubeconfig::write(&path, &format!("https://127.0.0.1:{port}"), &base.authority, &base.admin)?;
        let cluster = Cluster::disposable(&path).await?;

        let mut etcd = Process::start(&base.etcd(etcd_port))?;
        let launch = base
            .api_server(port, etcd_port, "127.0.0.1")
            .arg("--authorization-mode=RBAC")
            // Nobody can reach the `kubernetes` Service here, so it gets no endpoint. The address is given all the
            // same: the server would look for one and give up on a machine without a default route.
            .args(["--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none"]);
        let launch = base.with_audit(launch, options.audit)?.args(&options.api_server_args);
        let mut api_server = Process::start(&launch)?;
        let client = cluster.client()?;
        api_server
            .ready(READY, || {
                let failed = etcd.ended();
                let client = client.clone();
                async move {
                    match failed {
                        Some(failed) => Ok(Err(failed)),
                        None => ready(&client).await.map(Ok),
                    }
                }
            })
            .await??;
        let controller_manager =
            options.controller_manager.then(|| base.controller_manager(controllers_port, &path));
        let controller_manager = controller_manager.as_ref().map(Process::start).transpose()?;
        Ok(Self {
            cluster,
            controller_manager,
            api_server,
            api_server_launch: launch,
            etcd,
            audit_log: (options.audit != Audit::Off).then(|| base.audit_log()),
            scratch,
        })
    }

    /// The API server's audit log, one JSON event per line, if it keeps one.
    pub fn audit_log(&self) -> Option<&std::path::Path> {
        self.audit_log.as_deref()
    }

    /// The process ids of everything that runs.
    pub fn pids(&self) -> Vec<u32> {
        let controllers = self.controller_manager.as_ref().map(Process::pid);
        [self.etcd.pid(), self.api_server.pid()].into_iter().chain(controllers).collect()
    }

    /// Kills the API server: from now on connections are refused.
    pub fn kill_api_server(&mut self) -> Result<(), ControlPlaneError> {
        Ok(self.api_server.kill()?)
    }

    /// Starts the API server again, at the same address and with the same data, and returns when it is ready.
    pub async fn restart_api_server(&mut self) -> Result<(), ControlPlaneError> {
        self.api_server.kill()?;
        self.api_server = Process::start(&self.api_server_launch)?;
        // A new client: the old one's connections are those of the killed server.
        let client = self.cluster.client()?;
        Ok(self.api_server.ready(READY, || ready(&client)).await?)
    }

    /// Stops etcd in its tracks: from now on the API server accepts requests and does not answer them.
    pub fn freeze_etcd(&mut self) -> Result<(), ControlPlaneError> {
        Ok(self.etcd.signal(Signal::STOP)?)
    }

    /// Lets etcd go on.
    pub fn thaw_etcd(&mut self) -> Result<(), ControlPlaneError> {
        Ok(self.etcd.signal(Signal::CONT)?)
    }
}

/// Whether every start-up hook of the API server is through.
pub(super) async fn ready(client: &kube::Client) -> Result<(), String> {
    let request = http::Request::get("/readyz").body(Vec::new()).map_err(|error| error.to_string())?;
    client.request_text(request).await.map(drop).map_err(|error| error.to_string())
}

/// etcd's, the API server's and the controller manager's.
type Ports = [u16; 3];

/// Ports nobody listens on, all different because all are held until the last is known.
fn free_ports() -> io::Result<Ports> {
    let bind = || TcpListener::bind(("127.0.0.1", 0));
    let listeners = [bind()?, bind()?, bind()?];
    let mut ports = Ports::default();
    for (port, listener) in ports.iter_mut().zip(&listeners) {
        *port = listener.local_addr()?.port();
    }
    Ok(ports)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn ports_that_somebody_else_took_are_replaced_by_others() {
        let somebody = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let taken = somebody.local_addr().unwrap().port();
        let mut attempts = 0;
        let ports = || {
            attempts += 1;
            let [etcd, api_server, controllers] = free_ports()?;
            Ok(match attempts {
                1 => [taken, api_server, controllers],
                2 => [etcd, taken, controllers],
                _ => [etcd, api_server, controllers],
            })
        };
        let control_plane = ControlPlane::start_on(Options::default(), ports).await.unwrap();
        control_plane.client().unwrap().apiserver_version().await.unwrap();
        assert_eq!(attempts, 3);
    }
}
