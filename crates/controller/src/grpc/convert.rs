//! Conversion between messages and the types of the service.
//!
//! Messages that are sent are built field by field, without `..`: a field that is added to the contract does not
//! compile until it is handled here.

mod job;
mod node;
mod requests;
mod responses;
mod score;

pub(super) use self::job::{assigned_job, change, job};
pub(super) use self::node::{heartbeat, node, pull, register, registered, release, report};
pub(super) use self::requests::{StreamJobs, label_job, list_jobs, stream_jobs, submit, update};
pub(super) use self::responses::{explanation, sample};
pub(super) use self::score::{not_scored, rename_field, score, scored};

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
