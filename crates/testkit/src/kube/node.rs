//! A whole node: Kubernetes with containers, in its own Linux namespaces.
//!
//! ```text
//! owner ──pipe──▶ supervisor ──death signal──▶ unshare ──death signal──▶ init (first process inside)
//!                   │                                                      └─ cluster ─▶ etcd, API server, kubelet, …
//!                   └──pipe──▶ reaper
//! ```
//!
//! * The **owner** is a test, or the command that starts a cluster. Its end closes a pipe, and the supervisor stops,
//!   unless the owner detached the cluster before.
//! * The **supervisor** listens on a port of the host's loopback and forwards it inside. Its end, by whatever signal,
//!   kills the first process inside, and with it the kernel removes every process, mount and network of the cluster.
//! * The **reaper** removes what the kernel does not: cgroups and files. A pipe tells it that the supervisor has ended,
//!   and it holds the lock on the state directory until it is done.
//!
//! | what ends                  | what is left | guarded by (`tests/whole_node`)                                         |
//! |----------------------------|--------------|-------------------------------------------------------------------------|
//! | the cluster, in order      | nothing      | `a_cluster_runs_real_pods_and_is_gone_when_stopped`                     |
//! | the owner, by SIGKILL      | nothing      | `a_killed_owner_leaves_nothing`                                         |
//! | the supervisor, by SIGKILL | nothing      | `a_killed_supervisor_leaves_nothing_and_does_not_touch_another_cluster` |
//! | a server inside            | nothing      | `a_server_that_ends_takes_the_cluster_with_it`                          |
//! | the start, half way        | nothing      | `a_cluster_that_cannot_start_says_why_and_leaves_nothing`               |
//! | an owner that detached     | the cluster  | `a_detached_cluster_outlives_its_owner_until_it_is_stopped`             |

pub(crate) mod cgroups;
mod cluster;
mod config;
mod error;
mod footprint;
mod forward;
mod host_forward;
mod init;
mod mounts;
mod namespace;
mod network;
mod policies;
mod reaper;
mod role;
mod state;
mod supervisor;
mod whole_node;

pub use error::NodeError;
pub use footprint::Footprint;
pub use host_forward::HostForward;
pub use policies::PolicyEnforcement;
pub use role::{LAUNCHER_VARIABLE, ProcessRole, RoleLauncher};
pub use state::{ClusterRecord, StateDirectory};
pub use whole_node::{WholeNode, default_base, load_image, stop};

use super::assets::Binary;

pub const NODE_NAME: &str = "node1";

/// The sandbox image, which every node has and tests may use: it waits, or with arguments serves and fetches; see
/// `go/pause`.
pub const PAUSE_IMAGE: &str = config::SANDBOX_IMAGE;

pub const BINARIES: [Binary; 11] = [
    Binary::Etcd,
    Binary::KubeApiserver,
    Binary::KubeControllerManager,
    Binary::KubeScheduler,
    Binary::Kubelet,
    Binary::KubeProxy,
    Binary::Containerd,
    Binary::ContainerdShim,
    Binary::Ctr,
    Binary::CoreDns,
    Binary::Pause,
];

/// The byte that an owner writes to its supervisor so that the cluster outlives the owner.
const DETACH: u8 = b'd';
