//! A control plane: etcd and an API server on loopback.
//!
//! Ports are chosen by binding free ones and releasing them again, so another process may take one before the server
//! does. The server then exits with "address already in use", and the start is retried with other ports. Servers of
//! two clusters cannot be confused: every cluster has its own certificate authority.

mod shared;

use std::io;
use std::net::TcpListener;
use std::ops::Deref;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;

use super::assets::{self, AssetError, Assets, Binary};
use super::cluster::{ClusterError, TestCluster};
use super::kubeconfig;
use super::pki::PkiError;
use super::process::{ChildCommand, ChildProcess, ProcessError};
use super::scratch::ScratchDirectory;
use super::servers::{AuditLevel, ClusterFiles};
pub use shared::KUBECONFIG_VARIABLE;

/// Generous: a start usually takes four seconds, but the machine may be busy.
const READY_TIMEOUT: Duration = Duration::from_mins(1);

const MAX_ATTEMPTS: usize = 5;

#[derive(Debug, thiserror::Error)]
pub enum ControlPlaneError {
    #[error("cannot find or build the control plane's programs")]
    Assets(#[from] AssetError),
    #[error("cannot create the control plane's certificates")]
    Pki(#[from] PkiError),
    #[error("the control plane did not start")]
    Process(#[from] ProcessError),
    #[error("cannot use the control plane")]
    Cluster(#[from] ClusterError),
    #[error("cannot create the control plane's files")]
    Files(#[from] io::Error),
}

/// What to run in addition to etcd and the API server.
#[derive(Debug, Clone, Default)]
pub struct ControlPlaneOptions {
    /// Runs garbage collection, namespace deletion, `StatefulSet`s and Jobs. Without it tests act in its place.
    pub controller_manager: bool,
    pub audit: AuditLevel,
    pub api_server_args: Vec<String>,
}

/// A control plane. Dropping it stops it. It dereferences to [`TestCluster`].
#[derive(Debug)]
pub struct ControlPlane {
    cluster: TestCluster,
    // Fields are dropped in this order: clients before servers, files last.
    controller_manager: Option<ChildProcess>,
    api_server: ChildProcess,
    api_server_command: ChildCommand,
    etcd: ChildProcess,
    audit_log: Option<PathBuf>,
    #[expect(dead_code, reason = "removes the directory when dropped")]
    scratch: ScratchDirectory,
}

impl Deref for ControlPlane {
    type Target = TestCluster;

    fn deref(&self) -> &TestCluster {
        &self.cluster
    }
}

impl ControlPlane {
    /// Returns when it is ready.
    pub async fn start(options: ControlPlaneOptions) -> Result<Self, ControlPlaneError> {
        Self::start_on(options, free_ports).await
    }

    async fn start_on(
        options: ControlPlaneOptions,
        mut ports: impl FnMut() -> io::Result<Ports>,
    ) -> Result<Self, ControlPlaneError> {
        let mut binaries = vec![Binary::Etcd, Binary::KubeApiserver];
        binaries.extend(options.controller_manager.then_some(Binary::KubeControllerManager));
        let ensured = tokio::task::spawn_blocking(move || assets::ensure(&binaries)).await;
        let assets = ensured.map_err(io::Error::other)??;

        let mut attempt = 1;
        loop {
            match Self::attempt(&options, assets.clone(), ports()?).await {
                Err(ControlPlaneError::Process(ProcessError::Ended { log, .. }))
                    if attempt < MAX_ATTEMPTS && log.contains("address already in use") =>
                {
                    tracing::debug!(attempt, "a port was taken by another process; retrying with others");
                    attempt += 1;
                }
                other => return other,
            }
        }
    }

    /// The cluster that all tests of this run share; the first call starts it, unless the environment names one. It has
    /// no controller manager, so tests can act in place of the built-in controllers.
    pub async fn shared() -> Result<&'static TestCluster, ControlPlaneError> {
        shared::cluster().await
    }

    async fn attempt(
        options: &ControlPlaneOptions,
        assets: Assets,
        ports: Ports,
    ) -> Result<Self, ControlPlaneError> {
        let scratch = ScratchDirectory::create()?;
        let files = ClusterFiles::create(scratch.path(), assets, &["localhost", "127.0.0.1"])?;
        let [etcd_port, port, controllers_port] = ports;
        let path = scratch.path().join("kubeconfig");
        kubeconfig::write(&path, &format!("https://127.0.0.1:{port}"), &files.authority, &files.admin)?;
        let cluster = TestCluster::disposable(&path).await?;

        let mut etcd = ChildProcess::start(&files.etcd(etcd_port))?;
        let command = files
            .api_server(port, etcd_port, "127.0.0.1")
            .arg("--authorization-mode=RBAC")
            // Nothing can reach the `kubernetes` Service here, so it gets no endpoint. The address is set all the same:
            // without it the server looks for one, and fails on a machine without a default route.
            .args(["--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none"]);
        let command = files.with_audit(command, options.audit)?.args(&options.api_server_args);
        let mut api_server = ChildProcess::start(&command)?;
        let client = cluster.client()?;
        api_server
            .ready(READY_TIMEOUT, || {
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
            options.controller_manager.then(|| files.controller_manager(controllers_port, &path));
        let controller_manager = controller_manager.as_ref().map(ChildProcess::start).transpose()?;
        Ok(Self {
            cluster,
            controller_manager,
            api_server,
            api_server_command: command,
            etcd,
            audit_log: (options.audit != AuditLevel::Off).then(|| files.audit_log()),
            scratch,
        })
    }

    /// The API server's audit log, one JSON event per line, if it keeps one.
    pub fn audit_log(&self) -> Option<&std::path::Path> {
        self.audit_log.as_deref()
    }

    pub fn pids(&self) -> Vec<u32> {
        let controllers = self.controller_manager.as_ref().map(ChildProcess::pid);
        [self.etcd.pid(), self.api_server.pid()].into_iter().chain(controllers).collect()
    }

    /// Kills the API server; connections are refused from now on.
    pub fn kill_api_server(&mut self) -> Result<(), ControlPlaneError> {
        Ok(self.api_server.kill()?)
    }

    /// Restarts the API server at the same address and with the same data, and returns when it is ready.
    pub async fn restart_api_server(&mut self) -> Result<(), ControlPlaneError> {
        self.api_server.kill()?;
        self.api_server = ChildProcess::start(&self.api_server_command)?;
        // A new client, because the connections of an old one belong to the killed server.
        let client = self.cluster.client()?;
        Ok(self.api_server.ready(READY_TIMEOUT, || ready(&client)).await?)
    }

    /// Suspends etcd; the API server accepts requests but does not answer them from now on.
    pub fn freeze_etcd(&mut self) -> Result<(), ControlPlaneError> {
        Ok(self.etcd.signal(Signal::STOP)?)
    }

    /// Resumes etcd.
    pub fn resume_etcd(&mut self) -> Result<(), ControlPlaneError> {
        Ok(self.etcd.signal(Signal::CONT)?)
    }
}

/// Whether the API server has completed every start-up hook.
pub(super) async fn ready(client: &kube::Client) -> Result<(), String> {
    let request = http::Request::get("/readyz").body(Vec::new()).map_err(|error| error.to_string())?;
    client.request_text(request).await.map(drop).map_err(|error| error.to_string())
}

/// Ports of etcd, the API server and the controller manager.
type Ports = [u16; 3];

/// Free ports; all are held until the last one is known, so that they differ.
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
    async fn ports_that_another_process_took_are_replaced() {
        let other = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let taken = other.local_addr().unwrap().port();
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
        let control_plane = ControlPlane::start_on(ControlPlaneOptions::default(), ports).await.unwrap();
        control_plane.client().unwrap().apiserver_version().await.unwrap();
        assert_eq!(attempts, 3);
    }
}
