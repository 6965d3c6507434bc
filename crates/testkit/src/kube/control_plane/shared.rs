use std::env;
use std::path::Path;

use tokio::sync::OnceCell;

use super::{ControlPlane, ControlPlaneError, ControlPlaneOptions, TestCluster};

/// Environment variable with the kubeconfig of a cluster to use instead of starting one. A runner of many test programs
/// sets it, so that they share one cluster.
pub const KUBECONFIG_VARIABLE: &str = "VMAFX_TEST_KUBECONFIG";

/// A `static` is never dropped: the death signal ends the servers, and the cleaner removes their directory.
static STARTED: OnceCell<ControlPlane> = OnceCell::const_new();
static EXISTING: OnceCell<TestCluster> = OnceCell::const_new();

pub(super) async fn cluster() -> Result<&'static TestCluster, ControlPlaneError> {
    match env::var_os(KUBECONFIG_VARIABLE).filter(|path| !path.is_empty()) {
        Some(path) => Ok(EXISTING
            .get_or_try_init(async || TestCluster::from_kubeconfig(Path::new(&path)).await)
            .await?),
        None => Ok(STARTED
            .get_or_try_init(async || ControlPlane::start(ControlPlaneOptions::default()).await)
            .await?),
    }
}
