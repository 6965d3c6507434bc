//! A control plane with the CRDs and a controller, and operators on demand.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use vmafx_testkit::controller::ControllerServer;
use vmafx_testkit::kube::process::{ChildCommand, ChildProcess};
use vmafx_testkit::kube::{ControlPlane, ControlPlaneOptions, install_crds};
use vmafx_testkit::{http_client, ports};

use crate::bench::controller::{self, TOKEN};
use crate::workspace;

const TIMEOUT: Duration = Duration::from_mins(1);

/// Dropped in this order: the controller stops before the control plane.
pub(super) struct BenchCluster {
    pub(super) controller: ControllerServer,
    pub(super) directory: TempDir,
    pub(super) plane: ControlPlane,
}

impl BenchCluster {
    pub(super) fn start(runtime: &Runtime, options: ControlPlaneOptions) -> Result<Self> {
        // Below `target`, because the directory for temporary files may be in memory.
        let home = workspace::root().join("target/bench");
        fs::create_dir_all(&home)?;
        let directory = tempfile::tempdir_in(home)?;
        let plane = runtime.block_on(async {
            let plane = ControlPlane::start(options).await?;
            install_crds(&plane.client()?, &vmafx_api::crd::all()).await?;
            anyhow::Ok(plane)
        })?;
        let controller = controller::start(runtime, directory.path())?;
        Ok(Self { controller, directory, plane })
    }

    /// Starts an operator and waits until it is ready. Returns how long that took.
    pub(super) fn operator(
        &self,
        runtime: &Runtime,
        settings: &[(&str, &str)],
    ) -> Result<(ChildProcess, Duration)> {
        self.operator_with(runtime, self.plane.kubeconfig_path(), settings)
    }

    /// The same with another kubeconfig.
    pub(super) fn operator_with(
        &self,
        runtime: &Runtime,
        kubeconfig: &Path,
        settings: &[(&str, &str)],
    ) -> Result<(ChildProcess, Duration)> {
        let health = ports::free_address()?;
        let log = self.directory.path().join("operator.log");
        let mut launch = ChildCommand::new("vmafx-operator", workspace::release("vmafx-operator"), log)
            .env("KUBECONFIG", kubeconfig)
            .env("POD_NAMESPACE", "default")
            .env("VMAFX_OPERATOR_METRICS_ADDR", "0")
            .env("VMAFX_OPERATOR_HEALTH_PROBE_ADDR", health.to_string())
            .env("VMAFX_OPERATOR_NODE_IMAGE", "vmafx-node:bench")
            .env("VMAFX_CONTROLLER_GRPC_ADDR", self.controller.grpc().to_string())
            .env("VMAFX_CONTROLLER_HTTP_ADDR", format!("http://{}", self.controller.http()))
            .env("VMAFX_CONTROLLER_TOKEN", TOKEN);
        for (variable, value) in settings {
            launch = launch.env(*variable, *value);
        }
        let started = Instant::now();
        let mut process = ChildProcess::start(&launch).context("cannot start the operator")?;
        runtime.block_on(process.ready(TIMEOUT, || http_client::is_ready(health)))?;
        Ok((process, started.elapsed()))
    }
}
