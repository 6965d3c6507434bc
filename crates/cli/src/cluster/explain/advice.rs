//! What to do next, by reason.

use vmafx_api::conditions::Reason;

use crate::cluster::job::JobView;

/// Sentences in which NAME stands for the name of the job.
type Steps = &'static [&'static str];

const NOT_OBSERVED: Steps = &[
    "Check that the operator is running: kubectl get pods -A | grep vmafx-operator",
    "Read its log: it may lack a permission, or may not be the leader.",
];

/// The reason of this name; `None` if it is that of a later release.
pub(super) fn parse_reason(name: &str) -> Option<Reason> {
    Reason::ALL.iter().copied().find(|reason| reason.as_str() == name)
}

/// What to do about a job; empty if there is nothing to do.
pub(super) fn advice(job: JobView<'_>) -> Vec<String> {
    let steps = if job.phase().is_empty() && job.conditions().is_empty() {
        NOT_OBSERVED
    } else {
        parse_reason(job.reason()).map_or(&[][..], steps)
    };
    steps.iter().map(|step| step.replace("NAME", job.name())).collect()
}

fn steps(reason: Reason) -> Steps {
    match reason {
        Reason::ControllerUnreachable => &[
            "Check that the controller is running: kubectl get pods -A | grep vmafx-controller",
            "Check VMAFX_CONTROLLER_GRPC_ADDR of the operator. The job is submitted as soon as the controller answers.",
        ],
        Reason::Rejected => &[
            "Correct what the message names, and submit the job again under another name: its inputs cannot be changed.",
        ],
        Reason::WaitingForSlot => &[
            "See how busy the nodes are: kubectl vmafx get nodes",
            "Add workers (kubectl scale vmnode POOL --replicas=N), or raise spec.priority of the job.",
        ],
        Reason::NoMatchingNode => &[
            "See the nodes and their backends: kubectl vmafx get nodes -o wide",
            "Add a VmafxNode with the backend of the job, resume one that is paused, or submit the job with another backend.",
        ],
        Reason::BackingOff => &[
            "The last attempt failed or its node was lost; the job is retried automatically. See the nodes: kubectl vmafx get nodes",
        ],
        Reason::NodesQuarantined => &[
            "Repair what the message names on that node (a volume, credentials, disk, memory); its next job on trial ends the quarantine.",
            "See all nodes with their last errors: kubectl vmafx get nodes",
        ],
        Reason::Scoring => &["Follow the job: kubectl vmafx wait NAME, or kubectl vmafx logs NAME -f"],
        Reason::BelowMinScore => {
            &["If spec.reportURI was set, see the scores of the frames in the report: status.reportURI."]
        }
        Reason::InputUnavailable => &[
            "Check that both clips exist, and that the nodes have the credentials to read them.",
            "See the node's log (kubectl vmafx logs NAME), and submit the job again under another name.",
        ],
        Reason::InputRefused => &[
            "The clips must be below the scoring roots: VMAFX_SCORING_ROOTS of the controller, or VMAFX_OPERATOR_SCORING_ROOTS with execution: Pod.",
            "Extend the roots, and the job is submitted by itself; or move the clips and submit another job.",
        ],
        Reason::QuotaExceeded => {
            &["The job is submitted by itself when the quota that the message names has room."]
        }
        Reason::StoreFull => &[
            "Free space on the volume of the controller's store, or enlarge it; the message says how to keep fewer jobs.",
            "The job or its change is sent again by itself when there is room.",
        ],
        Reason::ScoringFailed => &[
            "The message says what is wrong with the clips; spec.scoring has options for sizes and lengths that differ.",
            "See the node's log: kubectl vmafx logs NAME",
        ],
        Reason::AttemptsExhausted => &[
            "Every attempt failed on its node or was lost with it, possibly because of the job: check restarts, memory and disk of the nodes (kubectl get pods).",
            "See the log before the restart (kubectl vmafx logs NAME --previous). spec.backoffLimit is the number of retries.",
        ],
        Reason::DeadlineExceeded => {
            &["Submit the job with a longer spec.activeDeadlineSeconds, or with a higher spec.priority."]
        }
        Reason::Cancelled => &["A cancelled job cannot be resumed: submit it again under another name."],
        Reason::Suspended => &["Resume the job: kubectl vmafx resume NAME"],
        reason => pod_steps(reason),
    }
}

/// Reasons of jobs with `execution: Pod`.
fn pod_steps(reason: Reason) -> Steps {
    match reason {
        Reason::Invalid => {
            &["The message is that of the API server: correct spec.podTemplate, or set an image in it."]
        }
        Reason::PodTemplateForbidden => &[
            "The message names the field: remove it from spec.podTemplate, or ask the administrator to enable the webhook or to set operator.podTemplates=any.",
        ],
        Reason::Forbidden => &[
            "The operator lacks a permission: apply the role of its release (config/rbac), or give it the role at the controller that the message names.",
        ],
        Reason::ForeignOwner => {
            &["A batch Job of this name has another owner: submit the job under another name."]
        }
        Reason::SyncFailed => &["The operator retries; its log has the details."],
        Reason::JobCreated => &["See the Pods of the job: kubectl get pods -l vmafx.dev/job=NAME"],
        Reason::Unschedulable => &[
            "No Kubernetes node has the resources that the Pod requests: see kubectl describe nodes, or request less in spec.podTemplate.",
        ],
        Reason::ImageUnavailable => {
            &["Check the image in spec.podTemplate, its registry, and the pull secrets of the namespace."]
        }
        Reason::PodStuck => &[
            "The message is that of Kubernetes: a volume, a Secret or a command of spec.podTemplate is wrong.",
        ],
        Reason::WaitingForAdmission => {
            &["The queue admits the job when it has capacity: kubectl get workloads"]
        }
        Reason::ResultLost => {
            &["See the log of the job (kubectl vmafx logs NAME), and submit it again under another name."]
        }
        // Nothing is wrong, or the reason belongs to another kind of resource.
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use kube::core::DynamicObject;
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn job(status: &Value) -> DynamicObject {
        serde_json::from_value(json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": { "name": "trailer" }, "status": status,
        }))
        .unwrap()
    }

    #[rstest]
    #[case("Suspended", "kubectl vmafx resume trailer")]
    #[case("WaitingForSlot", "kubectl vmafx get nodes")]
    #[case("InputRefused", "VMAFX_SCORING_ROOTS")]
    #[case("StoreFull", "Free space")]
    fn the_advice_for_a_reason_has_the_name_of_the_job(#[case] reason: &str, #[case] expected: &str) {
        let object = job(&json!({ "phase": "Pending",
            "conditions": [{ "type": "Accepted", "status": "False", "reason": reason }] }));
        let text = advice(JobView(&object)).join("\n");
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn the_advice_for_a_job_without_a_status_is_to_check_the_operator() {
        assert!(advice(JobView(&job(&json!({})))).join("\n").contains("that the operator is running"));
    }

    #[test]
    fn there_is_no_advice_for_a_success_or_for_a_reason_of_a_later_release() {
        for reason in ["Scored", "InventedLater"] {
            let status = json!({ "phase": "Succeeded", "conditions": [{ "type": "Complete", "status": "True", "reason": reason }] });
            assert!(advice(JobView(&job(&status))).is_empty(), "{reason}");
        }
    }
}
