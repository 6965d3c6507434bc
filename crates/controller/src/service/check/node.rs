//! Validation of registrations, pulls and heartbeats.

use std::collections::BTreeSet;

use vmafx_job::Backend;
use vmafx_job::limits::MAX_NAME_LENGTH;
use vmafx_queue::node::{self, NewNode};
use vmafx_queue::policy::{MAX_BACKENDS, MAX_HEARTBEAT_JOBS};
use vmafx_queue::{PullId, TenantId};

use super::MAX_SLOTS;
use super::jobs::labels;
use super::node_resource::node_resource;
use super::text::{at_most, identifier, required_identifier};
use crate::identity::Identity;
use crate::pools::ANY_TENANT;
use crate::refusal::Refusal;
use crate::service::request::{DeclaredCapability, Heartbeat, PullWork, RegisterNode};
use crate::service::{NodeNamespaces, TenantSet};

const MAX_VENDOR_LENGTH: usize = 64;

/// Pulls that one call may name as lost: more than a node has slots, since a slot loses one at a time.
const MAX_LOST_PULLS: usize = 64;

const MAX_SERVED_TENANTS: usize = 64;

pub(in crate::service) fn register(
    who: &Identity,
    namespaces: &NodeNamespaces,
    request: RegisterNode,
) -> Result<NewNode, Refusal> {
    required_identifier("name", &request.name, MAX_NAME_LENGTH)?;
    let of = |resource| node_resource(who, namespaces, resource);
    let resource = request.resource.map(of).transpose()?;
    let DeclaredCapability { gpu_vendor, backends, concurrency, labels: own_labels, device } =
        request.capability;
    identifier("capability.gpu_vendor", &gpu_vendor, MAX_VENDOR_LENGTH)?;
    identifier("capability.device", &device, MAX_NAME_LENGTH)?;
    labels("capability.labels", &own_labels)?;
    self::backends(&backends)?;
    let slots = slots(concurrency)?;
    let labels = own_labels;
    let capability = node::Capability { vendor: gpu_vendor, backends, slots, labels, device, shared: false };
    Ok(NewNode { name: request.name, capability, resource })
}

/// Returns the number of slots of the node, and the id of the pull.
pub(in crate::service) fn pull(request: &PullWork) -> Result<(u32, Option<PullId>), Refusal> {
    backends(&request.backends)?;
    let pull = match request.pull_id.as_str() {
        "" => None,
        id => Some(id.parse().map_err(|_| Refusal::invalid("pull_id", "must be a UUID"))?),
    };
    Ok((slots(request.concurrency)?, pull))
}

pub(in crate::service) fn lost_pulls(ids: &[String]) -> Result<Vec<PullId>, Refusal> {
    at_most("lost_pull_ids", ids.len(), MAX_LOST_PULLS)?;
    let parse = |(index, id): (usize, &String)| {
        id.parse().map_err(|_| Refusal::invalid(format!("lost_pull_ids[{index}]"), "must be a UUID"))
    };
    ids.iter().enumerate().map(parse).collect()
}

/// The tenants that a node asks to serve.
pub(in crate::service) fn serves(names: &[String]) -> Result<TenantSet, Refusal> {
    at_most("serves", names.len(), MAX_SERVED_TENANTS)?;
    let mut tenants = BTreeSet::new();
    for (index, name) in names.iter().enumerate() {
        if name == ANY_TENANT {
            return Ok(TenantSet::All);
        }
        let tenant = TenantId::new(name);
        tenants.insert(tenant.map_err(|error| {
            Refusal::invalid(format!("serves[{index}]"), format!("must be a tenant or *: {error}"))
        })?);
    }
    Ok(TenantSet::Only(tenants))
}

/// A malformed job id is not refused: the response lists it as lost.
pub(in crate::service) fn heartbeat(request: &Heartbeat) -> Result<(), Refusal> {
    at_most("running_job_ids", request.running_job_ids.len(), MAX_HEARTBEAT_JOBS)?;
    at_most("progress", request.progress.len(), MAX_HEARTBEAT_JOBS)?;
    at_most("job_tenants", request.job_tenants.len(), 2 * MAX_HEARTBEAT_JOBS)?;
    for (index, (_, _, progress)) in request.progress.iter().enumerate() {
        if i64::try_from(progress.done).is_err() || i64::try_from(progress.total).is_err() {
            return Err(Refusal::invalid(format!("progress[{index}].progress"), "does not fit into 63 bits"));
        }
    }
    Ok(())
}

fn backends(backends: &[String]) -> Result<(), Refusal> {
    at_most("capability.backends", backends.len(), MAX_BACKENDS)?;
    let names = Backend::ALL.map(Backend::name);
    match backends.iter().position(|backend| !names.contains(&backend.as_str())) {
        None => Ok(()),
        Some(index) => {
            let problem = format!("must be one of {}", names.join(", "));
            Err(Refusal::invalid(format!("capability.backends[{index}]"), problem))
        }
    }
}

/// A node that does not declare its slots has one.
fn slots(concurrency: i32) -> Result<u32, Refusal> {
    match u32::try_from(concurrency) {
        Ok(0) => Ok(1),
        Ok(slots @ ..=MAX_SLOTS) => Ok(slots),
        _ => Err(Refusal::invalid("capability.concurrency", format!("must be between 1 and {MAX_SLOTS}"))),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn registered(request: RegisterNode) -> Result<NewNode, Refusal> {
        let tenant = vmafx_queue::TenantId::new("t").unwrap();
        let (roles, subject) = (crate::identity::Roles::NONE, "laptop".to_owned());
        let source = crate::identity::SubjectSource::Platform;
        let who = Identity { tenant, subject, source, roles, calls_for_namespaces: false };
        register(&who, &NodeNamespaces::Any, request)
    }

    fn with(capability: DeclaredCapability) -> RegisterNode {
        RegisterNode { name: "node-0".into(), capability, resource: None }
    }

    fn many_labels() -> std::collections::BTreeMap<String, String> {
        (0..65).map(|n| (n.to_string(), String::new())).collect()
    }

    #[rstest]
    #[case::no_name(RegisterNode::default(), "name: is required")]
    #[case::long_name(RegisterNode { name: "n".repeat(254), ..RegisterNode::default() }, "name: must have at most 253 characters")]
    #[case::control(RegisterNode { name: "a\u{7f}".into(), ..RegisterNode::default() }, "name: must not contain control characters")]
    #[case::backend(with(DeclaredCapability { backends: vec!["cpu".into(), String::new()], ..DeclaredCapability::default() }), "capability.backends[1]: must be one of cpu, cuda, sycl, hip, metal")]
    #[case::backends(with(DeclaredCapability { backends: vec!["cpu".into(); 17], ..DeclaredCapability::default() }), "capability.backends: must have at most 16 items")]
    #[case::negative(with(DeclaredCapability { concurrency: -1, ..DeclaredCapability::default() }), "capability.concurrency: must be between 1 and 64")]
    #[case::slots(with(DeclaredCapability { concurrency: 65, ..DeclaredCapability::default() }), "capability.concurrency: must be between 1 and 64")]
    #[case::labels(with(DeclaredCapability { labels: many_labels(), ..DeclaredCapability::default() }), "capability.labels: must have at most 64 items")]
    #[case::label(with(DeclaredCapability { labels: [("a".to_owned(), "v".repeat(254))].into(), ..DeclaredCapability::default() }), "capability.labels[\"a\"]: must have at most 253 characters")]
    #[case::nameless_label(with(DeclaredCapability { labels: [(String::new(), "x".to_owned())].into(), ..DeclaredCapability::default() }), "capability.labels: has a label without a name")]
    #[case::device(with(DeclaredCapability { device: "a\nb".into(), ..DeclaredCapability::default() }), "capability.device: must not contain control characters")]
    fn a_refusal_names_the_field_and_the_rule(#[case] asked: RegisterNode, #[case] expected: &str) {
        assert_eq!(registered(asked).unwrap_err().to_string(), expected);
    }

    #[rstest]
    #[case::not_a_uuid("p", &[], "pull_id: must be a UUID")]
    #[case::a_lost_one("", &["0192d3f4-0000-7000-8000-000000000001", ""], "lost_pull_ids[1]: must be a UUID")]
    #[case::many("", &["p"; 65], "lost_pull_ids: must have at most 64 items")]
    fn a_pull_has_an_id_or_none(#[case] id: &str, #[case] lost: &[&str], #[case] expected: &str) {
        let lost: Vec<String> = lost.iter().map(|&id| id.to_owned()).collect();
        let request = PullWork { pull_id: id.to_owned(), ..PullWork::default() };
        let refused = pull(&request).map(drop).and(lost_pulls(&lost).map(drop)).unwrap_err();
        assert_eq!(refused.to_string(), expected);
    }

    #[rstest]
    #[case::empty(&[""], "serves[0]: must be a tenant or *: the text is empty")]
    #[case::control(&["a", "b\n"], "serves[1]: must be a tenant or *: the text has a control character")]
    #[case::many(&["a"; 65], "serves: must have at most 64 items")]
    fn a_node_serves_tenants(#[case] names: &[&str], #[case] expected: &str) {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(serves(&names).unwrap_err().to_string(), expected);
    }

    #[test]
    fn a_node_without_a_capability_has_one_slot() {
        assert_eq!(registered(with(DeclaredCapability::default())).unwrap().capability.slots, 1);
    }
}
