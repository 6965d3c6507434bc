//! What nodes say and hear.

use std::time::Duration;

use vmafx_job::{FailureReason, ScoreResult};
use vmafx_proto::controller::v1 as wire;
use vmafx_proto::convert::score_details;
use vmafx_queue::job::Progress;
use vmafx_queue::node::{self as queue, Node};

use super::{origin, resource_ref};
use crate::grpc::controller::milliseconds;
use crate::service::answer::Registered;
use crate::service::request::{
    Capability, Heartbeat, Pull, Register, Release, ReportResult, Secret, Session,
};

fn session(node_id: String, token: String) -> Session {
    Session { node_id, token: Secret(token) }
}

/// A registration.
pub(in crate::grpc) fn register(request: wire::RegisterNodeRequest) -> Register {
    let wire::RegisterNodeRequest { name, capability, resource } = request;
    Register { name, capability: self::capability(capability), resource: resource.map(origin) }
}

/// A node that says nothing can do the least.
fn capability(capability: Option<wire::NodeCapability>) -> Capability {
    let wire::NodeCapability { gpu_vendor, backends, concurrency, labels, device } =
        capability.unwrap_or_default();
    Capability { gpu_vendor, backends, concurrency, labels, device }
}

/// The answer to a registration.
pub(in crate::grpc) fn registered(registered: Registered) -> wire::RegisterNodeResponse {
    wire::RegisterNodeResponse {
        node_id: registered.credentials.session.to_string(),
        session_token: registered.credentials.token.0,
        lease_ttl_ms: milliseconds(registered.lease_ttl),
        session_ttl_ms: milliseconds(registered.session_ttl),
    }
}

/// A connected node, as others see it: without its session.
pub(in crate::grpc) fn node(node: Node) -> wire::Node {
    let queue::Capability { vendor, backends, slots, labels, device } = node.capability;
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
        resource: node.resource.map(resource_ref),
        registered_at_ms: node.registered_at.0,
        last_seen_at_ms: node.last_seen_at.0,
    }
}

/// A heartbeat. `jobs_running` is informational: what counts are the ids.
pub(in crate::grpc) fn heartbeat(request: wire::HeartbeatRequest) -> Heartbeat {
    let progress = request.progress.into_iter().filter_map(|told| {
        let progress = told.progress?;
        Some((
            told.job_id,
            told.attempt,
            Progress { done: progress.frames_done, total: progress.frames_total },
        ))
    });
    Heartbeat {
        session: session(request.node_id, request.session_token),
        running_job_ids: request.running_job_ids,
        progress: progress.collect(),
    }
}

/// A pull.
pub(in crate::grpc) fn pull(request: wire::PullWorkRequest) -> Pull {
    let Capability { backends, concurrency, .. } = capability(request.capability);
    Pull {
        session: session(request.node_id, request.session_token),
        backends,
        concurrency,
        wait: Duration::from_millis(request.wait_ms.into()),
    }
}

/// A report. `partial_scores` are part of the contract and never stored.
pub(in crate::grpc) fn report(request: wire::ReportResultRequest) -> ReportResult {
    ReportResult {
        session: session(request.node_id, request.session_token),
        job_id: request.job_id,
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

/// A release.
pub(in crate::grpc) fn release(request: wire::ReleaseJobRequest) -> Release {
    Release {
        session: session(request.node_id, request.session_token),
        job_id: request.job_id,
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
        let asked = wire::RegisterNodeRequest {
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
        let expected = Register {
            name: "node-0".into(),
            capability: Capability {
                gpu_vendor: "nvidia".into(),
                backends: vec!["cuda".into()],
                concurrency: 4,
                labels,
                device: "RTX".into(),
            },
            resource: Some(vmafx_queue::job::Origin { name: "pool-a".into(), ..Default::default() }),
        };
        assert_eq!(register(asked), expected);
    }

    #[test]
    fn every_field_of_a_report_is_read() {
        let scores = wire::PooledScores {
            mean: 1.0,
            harmonic_mean: 2.0,
            min: 3.0,
            max: 4.0,
            stddev: 5.0,
            p1: 6.0,
            p5: 7.0,
            p10: 8.0,
            p50: 9.0,
        };
        let asked = wire::ReportResultRequest {
            node_id: "n".into(),
            session_token: "t".into(),
            job_id: "j".into(),
            r#final: true,
            score: 93.0,
            features: BTreeMap::from([("vif".to_owned(), 0.5)]),
            partial_scores: vec![1.0],
            error: "e".into(),
            attempt: 2,
            result: Some(wire::ResultDetails {
                model: "m".into(),
                model_digest: "d".into(),
                backend: "cpu".into(),
                frames: 48,
                size: Some(wire::PictureSize { width: 16, height: 9 }),
                scores: Some(scores),
                warnings: vec!["w".into()],
                report_uri: "/r".into(),
            }),
            failure_reason: 3,
        };
        let expected = ReportResult {
            session: session("n".into(), "t".into()),
            job_id: "j".into(),
            attempt: 2,
            is_final: true,
            success: ScoreResult {
                score: 93.0,
                features: BTreeMap::from([("vif".to_owned(), 0.5)]),
                details: asked.result.clone().map(score_details),
            },
            error: "e".into(),
            failure_reason: FailureReason::InputInvalid,
        };
        assert_eq!(report(asked), expected);
    }

    #[test]
    fn every_field_of_a_heartbeat_and_a_pull_is_read() {
        let progress = wire::Progress { frames_done: 3, frames_total: 9 };
        let asked = wire::HeartbeatRequest {
            node_id: "n".into(),
            session_token: "t".into(),
            jobs_running: 1,
            running_job_ids: vec!["j".into()],
            progress: vec![wire::JobProgress { job_id: "j".into(), attempt: 2, progress: Some(progress) }],
        };
        let expected = Heartbeat {
            session: session("n".into(), "t".into()),
            running_job_ids: vec!["j".into()],
            progress: vec![("j".into(), 2, Progress { done: 3, total: 9 })],
        };
        assert_eq!(heartbeat(asked), expected);

        let asked = wire::PullWorkRequest {
            node_id: "n".into(),
            session_token: "t".into(),
            capability: Some(wire::NodeCapability {
                backends: vec!["cpu".into()],
                concurrency: 2,
                ..Default::default()
            }),
            wait_ms: 1500,
        };
        let expected = Pull {
            session: session("n".into(), "t".into()),
            backends: vec!["cpu".into()],
            concurrency: 2,
            wait: Duration::from_millis(1500),
        };
        assert_eq!(pull(asked), expected);
    }
}
