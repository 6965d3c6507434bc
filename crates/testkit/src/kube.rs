//! A real Kubernetes on this machine, without downloads other than Go modules.
//!
//! There are two kinds:
//!
//! * [`ControlPlane`] for integration tests: etcd and an API server (and controllers on request), plain processes on
//!   loopback, without root. All tests of a run share one and use a namespace each.
//! * [`WholeNode`] for end-to-end tests: adds the scheduler, containerd, a kubelet, kube-proxy and DNS, in Linux
//!   namespaces. It needs root on Linux; [`probe`] tells whether this machine can run it.
//!
//! Nothing outlives its owner, however the owner ends: no process, mount, network namespace, cgroup or directory.
//!
//! ```no_run
//! # async fn test() -> Result<(), Box<dyn std::error::Error>> {
//! use vmafx_testkit::kube::ControlPlane;
//!
//! let cluster = ControlPlane::shared().await?;
//! let namespace = cluster.namespace("jobs").await?;
//! // … namespace.client() and namespace.name() …
//! # Ok(())
//! # }
//! ```

pub mod account;
pub mod assets;
pub mod audit;
mod cluster;
mod control_plane;
mod crds;
mod kubeconfig;
pub mod node;
pub(crate) mod pki;
pub mod probe;
pub mod process;
pub mod proxy;
pub mod request_counts;
pub(crate) mod scratch;
mod servers;

pub use cluster::{ClusterError, TestCluster, TestNamespace};
pub use control_plane::{ControlPlane, ControlPlaneError, ControlPlaneOptions, KUBECONFIG_VARIABLE};
pub use crds::{CrdError, install_crds, without_schema};
pub use node::WholeNode;
pub use pki::PkiError;
pub use servers::AuditLevel;
pub use vmafx_image as image;
