//! The control plane of a test run.

use std::env;
use std::path::Path;

use tokio::sync::OnceCell;

use super::{Cluster, ControlPlane, ControlPlaneError, Options};

/// Environment variable that names the kubeconfig of a cluster to use instead of starting one. A runner of many
/// test programs sets it, so that they share one cluster instead of starting one each.
pub const KUBECONFIG_VARIABLE: &str = "VMAFX_TEST_KUBECONFIG";

/// Never dropped, as no `static` is: the death signal and the scratch directory's cleaner see to its end.
static STARTED: OnceCell<ControlPlane> = OnceCell::const_new();
static GIVEN: OnceCell<Cluster> = OnceCell::const_new();

pub(super) async fn cluster() -> Result<&'static Cluster, ControlPlaneError> {
    match env::var_os(KUBECONFIG_VARIABLE).filter(|path| !path.is_empty()) {
        Some(path) => {
            Ok(GIVEN.get_or_try_init(async || Cluster::from_kubeconfig(Path::new(&path)).await).await?)
        }
        None => Ok(STARTED.get_or_try_init(async || ControlPlane::start(Options::default()).await).await?),
    }
}
