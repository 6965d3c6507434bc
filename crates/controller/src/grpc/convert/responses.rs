//! Explanations and samples, to the wire.

use vmafx_proto::controller::v1 as wire;

use super::job::milliseconds;
use crate::service::response::{SampleItem, WaitExplanation, WaitReason};

pub(in crate::grpc) fn explanation(explanation: WaitExplanation) -> wire::ExplainResponse {
    let backends = explanation.backends.into_iter().map(|(backend, supply)| wire::BackendSupply {
        backend,
        nodes: supply.nodes,
        slots: supply.slots,
        busy: supply.busy,
    });
    wire::ExplainResponse {
        reason: reason(explanation.reason).into(),
        message: explanation.message,
        ahead_by_priority: explanation.ahead_by_priority,
        ahead_by_age: explanation.ahead_by_age,
        backends: backends.collect(),
        next_eligible_at_ms: milliseconds(explanation.next_eligible_at),
    }
}

fn reason(reason: WaitReason) -> wire::WaitReason {
    match reason {
        WaitReason::None => wire::WaitReason::Unspecified,
        WaitReason::NoNode => wire::WaitReason::NoNode,
        WaitReason::NoBackend => wire::WaitReason::NoBackend,
        WaitReason::BackingOff => wire::WaitReason::BackingOff,
        WaitReason::Busy => wire::WaitReason::Busy,
        WaitReason::Ready => wire::WaitReason::Ready,
        WaitReason::Quarantined => wire::WaitReason::Quarantined,
        WaitReason::TenantLimit => wire::WaitReason::TenantLimit,
    }
}

pub(in crate::grpc) fn sample(item: SampleItem) -> wire::StreamSamplesResponse {
    let sample = item.sample.map(|sample| wire::Sample {
        job_id: sample.job.to_string(),
        features: sample.features,
        ground_truth: sample.label,
        labelled_by: sample.labelled_by.as_str().to_owned(),
    });
    wire::StreamSamplesResponse { cursor: item.cursor, sample }
}

#[cfg(test)]
mod tests {
    use vmafx_queue::clock::Timestamp;
    use vmafx_queue::store::Supply;

    use super::*;

    #[test]
    fn a_whole_explanation_as_a_message() {
        let whole = WaitExplanation {
            reason: WaitReason::BackingOff,
            message: "soon".into(),
            ahead_by_priority: 1,
            ahead_by_age: 2,
            backends: vec![("cpu".into(), Supply { nodes: 3, slots: 4, busy: 5 })],
            next_eligible_at: Some(Timestamp(6)),
        };
        let expected = wire::ExplainResponse {
            reason: 3,
            message: "soon".into(),
            ahead_by_priority: 1,
            ahead_by_age: 2,
            backends: vec![wire::BackendSupply { backend: "cpu".into(), nodes: 3, slots: 4, busy: 5 }],
            next_eligible_at_ms: 6,
        };
        assert_eq!(explanation(whole), expected);
    }
}
