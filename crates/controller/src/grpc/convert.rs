//! Between messages and the words of the domain.
//!
//! Messages that are sent are built field by field, without `..`: a field that is added to the contract does not
//! compile until somebody decides what stands in it.

mod asked;
mod job;
mod node;
mod score;
mod told;

pub(super) use self::asked::{StreamJobs, label_job, list_jobs, stream_jobs, submit};
pub(super) use self::job::{change, job, work};
pub(super) use self::node::{heartbeat, node, pull, register, registered, release, report};
pub(super) use self::score::{not_scored, rename, score, scored};
pub(super) use self::told::{explanation, sample};

use vmafx_proto::controller::v1 as wire;
use vmafx_queue::job::Origin;

fn origin(reference: wire::ResourceRef) -> Origin {
    let wire::ResourceRef { cluster, namespace, name, uid } = reference;
    Origin { cluster, namespace, name, uid }
}

fn resource_ref(origin: Origin) -> wire::ResourceRef {
    let Origin { cluster, namespace, name, uid } = origin;
    wire::ResourceRef { cluster, namespace, name, uid }
}
