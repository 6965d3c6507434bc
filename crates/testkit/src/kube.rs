//! A real Kubernetes on this machine, without downloads other than Go modules.
//!
//! Two shapes:
//!
//! * [`ControlPlane`]: etcd and an API server (and controllers on request), plain processes on loopback, no root.
//!   What integration tests need; all tests of a run share one and take a namespace each.
//! * [`WholeNode`]: adds the scheduler, containerd, a kubelet, kube-proxy and DNS in namespaces of its own. What
//!   end-to-end tests need. Root and Linux only; [`probe`] says whether this machine can.
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
mod hex;
mod kubeconfig;
pub mod node;
pub(crate) mod pki;
pub mod probe;
pub mod process;
pub mod proxy;
pub mod request_counts;
pub(crate) mod scratch;
mod servers;

pub use cluster::{Cluster, ClusterError, TestNamespace};
pub use control_plane::{ControlPlane, ControlPlaneError, KUBECONFIG_VARIABLE, Options};
pub use crds::{CrdError, install_crds, loose};
pub use node::WholeNode;
pub use pki::PkiError;
pub use servers::Audit;
pub use vmafx_image as image;
