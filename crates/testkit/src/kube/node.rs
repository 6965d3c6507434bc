//! The second shape: a whole node, with containers, in namespaces of its own.
//!
//! ```text
//! owner ──pipe──▶ keeper ──death signal──▶ unshare ──death signal──▶ init (first process inside)
//!                   │                                                  └─ cluster ─▶ etcd, API server, kubelet, …
//!                   └──pipe──▶ reaper
//! ```
//!
//! * The **owner** is a test, or the command that starts a cluster. Its end closes a pipe, and the keeper ends;
//!   unless it said before that the cluster should stay.
//! * The **keeper** holds a port of the host's loopback and forwards it inside. Its end, by whatever signal, kills
//!   the first process inside, and with that the kernel ends every process, mount and network of the cluster.
//! * The **reaper** removes what the kernel does not: cgroups and files. It notices the keeper's end by a pipe, and
//!   holds the lock on the state until it is done.
//!
//! | what ends              | what is left | guarded by (`tests/whole_node.rs`)                                    |
//! |------------------------|--------------|-----------------------------------------------------------------------|
//! | the cluster, in order  | nothing      | `a_cluster_runs_real_pods_and_is_gone_when_stopped`                   |
//! | the owner, by SIGKILL  | nothing      | `a_killed_owner_leaves_nothing`                                       |
//! | the keeper, by SIGKILL | nothing      | `a_killed_keeper_leaves_nothing_and_does_not_touch_another_cluster`   |
//! | a server inside        | nothing      | `a_server_that_ends_takes_the_cluster_with_it`                        |
//! | the start, half way    | nothing      | `a_cluster_that_cannot_start_says_why_and_leaves_nothing`             |
//! | an owner that detached | the cluster  | `a_detached_cluster_outlives_its_owner_until_it_is_stopped`           |

pub(crate) mod cgroups;
mod cluster;
mod config;
mod error;
mod footprint;
mod forward;
mod init;
mod keeper;
mod mounts;
mod namespace;
mod network;
mod outside;
mod reaper;
mod role;
mod state;
mod whole;

pub use error::NodeError;
pub use footprint::Footprint;
pub use outside::Outside;
pub use role::{LAUNCHER_VARIABLE, Launcher, Role};
pub use state::{Record, State};
pub use whole::{WholeNode, default_base, load_image, stop};

use super::assets::Binary;

/// What the only node is called.
pub const NODE_NAME: &str = "node1";

/// The image that every node has from the start, and that tests may use: it waits, or with arguments serves and
/// fetches; see `go/pause`.
pub const PAUSE_IMAGE: &str = config::SANDBOX;

/// Everything that a whole node runs.
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

/// What an owner writes to its keeper so that the cluster stays when the owner ends.
const DETACH: u8 = b'd';
