//! Messages of nodes.

use std::time::Duration;

use vmafx_job::{FailureReason, ScoreResult};
use vmafx_proto::controller::v1 as wire;
use vmafx_proto::convert::score_details;
use vmafx_queue::job::Progress;
use vmafx_queue::node::{self as queue, Node};

use super::{origin, resource_ref};
use crate::grpc::controller::milliseconds;
use crate::service::request::{
    DeclaredCapability, Heartbeat, NodeSession, PullWork, RegisterNode, ReleaseJob, ReportResult,
    SessionSecret,
};
use crate::service::response::Registration;

fn session(node_id: String, token: String) -> NodeSession {
    NodeSession { node_id, token: SessionSecret(token) }
}

pub(in crate::grpc) fn register(request: wire::RegisterNodeRequest) -> RegisterNode {
    let wire::RegisterNodeRequest { name, capability, resource } = request;
    RegisterNode { name, capability: self::capability(capability), resource: resource.map(origin) }
}

/// A node without a capability gets the defaults.
fn capability(capability: Option<wire::NodeCapability>) -> DeclaredCapability {
    let wire::NodeCapability { gpu_vendor, backends, concurrency, labels, device } =
        capability.unwrap_or_default();
    DeclaredCapability { gpu_vendor, backends, concurrency, labels, device }
}

pub(in crate::grpc) fn registered(registration: Registration) -> wire::RegisterNodeResponse {
    wire::RegisterNodeResponse {
        node_id: registration.credentials.session.to_string(),
        session_token: registration.credentials.token.0,
        lease_ttl_ms: milliseconds(registration.lease_ttl),
        session_ttl_ms: milliseconds(registration.session_ttl),
    }
}

/// A connected node, without its session.
pub(in crate::grpc) fn node(node: Node) -> wire::Node {
    let queue::Capability { vendor, backends, slots, labels, device, shared } = node.capability;
    let capability = wire::NodeCapability {
        gpu_vendor: vendor,
        backends,
        concurrency: i32::try_from(slots).unwrap_or(i32::MAX),
        labels,
        device,
    };
    wire::Node {
        name: node.name,
        capability: Some(capability),
        jobs_running: node.jobs,
        resource: node.resource.map(|resource| resource_ref(resource.origin)),
        registered_at_ms: node.registered_at.0,
        last_seen_at_ms: node.last_seen_at.0,
        shared,
        quarantine: node.quarantine.map(|quarantine| wire::Quarantine {
            failures: quarantine.failures,
            until_ms: quarantine.until.0,
            reason: quarantine.reason.number(),
            message: quarantine.error,
        }),
    }
}

/// Ignores `jobs_running`: the ids count.
pub(in crate::grpc) fn heartbeat(request: wire::HeartbeatRequest) -> Heartbeat {
    let progress = request.progress.into_iter().filter_map(|job| {
        let progress = job.progress?;
        Some((job.job_id, job.attempt, Progress { done: progress.frames_done, total: progress.frames_total }))
    });
    Heartbeat {
        session: session(request.node_id, request.session_token),
        running_job_ids: request.running_job_ids,
        progress: progress.collect(),
        lost_pull_ids: request.lost_pull_ids,
        job_tenants: request.job_tenants,
        serves: request.serves,
    }
}

pub(in crate::grpc) fn pull(request: wire::PullWorkRequest) -> PullWork {
    let DeclaredCapability { backends, concurrency, .. } = capability(request.capability);
    PullWork {
        session: session(request.node_id, request.session_token),
        backends,
        concurrency,
        wait: Duration::from_millis(request.wait_ms.into()),
        pull_id: request.pull_id,
        lost_pull_ids: request.lost_pull_ids,
        serves: request.serves,
    }
}

/// Ignores `partial_scores`, which the contract has but nothing stores.
pub(in crate::grpc) fn report(request: wire::ReportResultRequest) -> ReportResult {
    ReportResult {
        session: session(request.node_id, request.session_token),
        job_id: request.job_id,
        tenant: request.tenant,
        attempt: request.attempt,
        is_final: request.r#final,
        success: ScoreResult {
            score: request.score,
            features: request.features,
            details: request.result.map(score_details),
        },
        error: request.error,
        failure_reason: FailureReason::from_number(request.failure_reason),
    }
}

pub(in crate::grpc) fn release(request: wire::ReleaseJobRequest) -> ReleaseJob {
    ReleaseJob {
        session: session(request.node_id, request.session_token),
        job_id: request.job_id,
        tenant: request.tenant,
        attempt: request.attempt,
        reason: request.reason,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_field_of_a_registration_is_read() {
        let labels = BTreeMap::from([("pool".to_owned(), "a".to_owned())]);
        let request = wire::RegisterNodeRequest {
            name: "node-0".into(),
            capability: Some(wire::NodeCapability {
                gpu_vendor: "nvidia".into(),
                backends: vec!["cuda".into()],
                concurrency: 4,
                labels: labels.clone(),
                device: "RTX".into(),
            }),
            resource: Some(wire::ResourceRef { name: "pool-a".into(), ..Default::default() }),
        };
        let expected = RegisterNode {
            name: "node-0".into(),
            capability: DeclaredCapability {
                gpu_vendor: "nvidia".into(),
                backends: vec!["cuda".into()],
                concurrency: 4,
                labels,
                device: "RTX".into(),
            },
            resource: Some(vmafx_queue::job::Origin { name: "pool-a".into(), ..Default::default() }),
        };
        assert_eq!(register(request), expected);
    }

    #[test]
    fn every_field_of_a_report_is_read() {
        let request = wire::ReportResultRequest {
            node_id: "n".into(),
            session_token: "t".into(),
            job_id: "j".into(),
            r#final: true,
            score: 93.0,
            features: BTreeMap::from([("vif".to_owned(), 0.5)]),
            partial_scores: vec![1.0],
            error: "e".into(),
            attempt: 2,
            result: Some(wire::ResultDetails { model: "m".into(), ..Default::default() }),
            failure_reason: 3,
            tenant: "studio".into(),
        };
        let expected = ReportResult {
            session: session("n".into(), "t".into()),
            job_id: "j".into(),
            tenant: "studio".into(),
            attempt: 2,
            is_final: true,
            success: ScoreResult {
                score: 93.0,
                features: BTreeMap::from([("vif".to_owned(), 0.5)]),
                details: request.result.clone().map(score_details),
            },
            error: "e".into(),
            failure_reason: FailureReason::InputInvalid,
        };
        assert_eq!(report(request), expected);
    }

    #[test]
    fn every_field_of_a_heartbeat_and_a_pull_is_read() {
        let progress = wire::Progress { frames_done: 3, frames_total: 9 };
        let request = wire::HeartbeatRequest {
            node_id: "n".into(),
            session_token: "t".into(),
            jobs_running: 1,
            running_job_ids: vec!["j".into()],
            progress: vec![wire::JobProgress { job_id: "j".into(), attempt: 2, progress: Some(progress) }],
            lost_pull_ids: vec!["p".into()],
            job_tenants: [("j".to_owned(), "studio".to_owned())].into(),
            serves: vec!["*".into()],
        };
        let expected = Heartbeat {
            session: session("n".into(), "t".into()),
            running_job_ids: vec!["j".into()],
            progress: vec![("j".into(), 2, Progress { done: 3, total: 9 })],
            lost_pull_ids: vec!["p".into()],
            job_tenants: [("j".to_owned(), "studio".to_owned())].into(),
            serves: vec!["*".into()],
        };
        assert_eq!(heartbeat(request), expected);

        let request = wire::PullWorkRequest {
            node_id: "n".into(),
            session_token: "t".into(),
            capability: Some(wire::NodeCapability {
                backends: vec!["cpu".into()],
                concurrency: 2,
                ..Default::default()
            }),
            wait_ms: 1500,
            pull_id: "p".into(),
            lost_pull_ids: vec!["q".into()],
            serves: vec!["studio".into()],
        };
        let expected = PullWork {
            session: session("n".into(), "t".into()),
            backends: vec!["cpu".into()],
            concurrency: 2,
            wait: Duration::from_millis(1500),
            pull_id: "p".into(),
            lost_pull_ids: vec!["q".into()],
            serves: vec!["studio".into()],
        };
        assert_eq!(pull(request), expected);
    }
}
