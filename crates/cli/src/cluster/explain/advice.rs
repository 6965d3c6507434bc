//! What to do next, by reason.

use vmafx_api::conditions::Reason;

use crate::cluster::job::Job;

/// The reason of this name, if this release has it.
pub(super) fn known(word: &str) -> Option<Reason> {
    Reason::ALL.iter().copied().find(|reason| reason.as_str() == word)
}

/// What to do about a job; nothing where there is nothing to do.
pub(super) fn advice(job: Job<'_>) -> Vec<String> {
    let name = job.name();
    let say = |words: &[&str]| words.iter().map(|text| text.replace("NAME", name)).collect();
    if job.phase().is_empty() && job.conditions().is_empty() {
        return say(&[
            "See whether the operator runs: kubectl get pods -A | grep vmafx-operator",
            "Read its log; it may lack a permission, or not lead.",
        ]);
    }
    let Some(reason) = known(job.reason()) else { return Vec::new() };
    say(match reason {
        Reason::ControllerUnreachable => &[
            "See whether the controller runs: kubectl get pods -A | grep vmafx-controller",
            "Check VMAFX_CONTROLLER_GRPC_ADDR of the operator. The job is submitted as soon as the controller answers.",
        ],
        Reason::Rejected => &[
            "Correct what the message names, and submit the job again under another name: its inputs cannot be changed.",
        ],
        Reason::WaitingForSlot => &[
            "See how busy the nodes are: kubectl vmafx get nodes",
            "More workers: kubectl scale vmnode POOL --replicas=N. Sooner: a higher spec.priority.",
        ],
        Reason::NoMatchingNode => &[
            "See what there is: kubectl vmafx get nodes -o wide",
            "Add a VmafxNode with the backend of the job, resume one that is paused, or submit the job with another backend.",
        ],
        Reason::BackingOff => {
            &["Its last node was lost; it is tried again by itself. See the nodes: kubectl vmafx get nodes"]
        }
        Reason::Scoring => &["Follow it: kubectl vmafx wait NAME, or kubectl vmafx logs NAME -f"],
        Reason::BelowMinScore => {
            &["See the frames in the report, if spec.reportURI was set: status.reportURI."]
        }
        Reason::InputUnavailable => &[
            "Check that both addresses exist, and that the nodes have the credentials to read them.",
            "The node's own words: kubectl vmafx logs NAME. Then submit the job again under another name.",
        ],
        Reason::InputRefused => &[
            "The clips must lie below the scoring roots: VMAFX_SCORING_ROOTS of the controller.",
            "Move the clips, or have the roots widened; then submit the job again under another name.",
        ],
        Reason::ScoringFailed => &[
            "The message says what is wrong with the clips: sizes and lengths that differ have their options in spec.scoring.",
            "The node's own words: kubectl vmafx logs NAME",
        ],
        Reason::AttemptsExhausted => &[
            "Nodes were lost while they scored it, perhaps by it: see their restarts and memory (kubectl get pods).",
            "kubectl vmafx logs NAME --previous. spec.backoffLimit is how often it is tried again.",
        ],
        Reason::DeadlineExceeded => {
            &["Submit it with a longer spec.activeDeadlineSeconds, or a higher spec.priority."]
        }
        Reason::Cancelled => &["It cannot be revived: submit it again under another name."],
        Reason::Suspended => &["Let it go on: kubectl vmafx resume NAME"],
        Reason::Invalid => {
            &["The message is the API server's own: correct spec.podTemplate, or name an image in it."]
        }
        Reason::Forbidden => {
            &["The operator lacks a permission: apply the role of its release (config/rbac)."]
        }
        Reason::ForeignOwner => {
            &["A batch Job of this name belongs to somebody else: submit the job under another name."]
        }
        Reason::SyncFailed => &["The operator keeps trying; its log says more."],
        Reason::JobCreated => &["See its Pods: kubectl get pods -l vmafx.dev/job=NAME"],
        Reason::Unschedulable => &[
            "No Kubernetes node has what its Pod asks for: see kubectl describe nodes, or ask for less in spec.podTemplate.",
        ],
        Reason::ImageUnavailable => {
            &["Check the image in spec.podTemplate, its registry, and the pull secrets of the namespace."]
        }
        Reason::PodStuck => &[
            "The message is that of Kubernetes: a volume, a Secret or a command of spec.podTemplate is wrong.",
        ],
        Reason::WaitingForAdmission => &["Its queue admits it when there is room: kubectl get workloads"],
        Reason::ResultLost => {
            &["See its log: kubectl vmafx logs NAME. Then submit it again under another name."]
        }
        // Nothing is wrong, or the reason is one of another kind of resource.
        _ => &[],
    })
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
    fn a_reason_has_its_advice_with_the_job_in_it(#[case] reason: &str, #[case] expected: &str) {
        let object = job(&json!({ "phase": "Pending",
            "conditions": [{ "type": "Accepted", "status": "False", "reason": reason }] }));
        let said = advice(Job(&object)).join("\n");
        assert!(said.contains(expected), "{said}");
    }

    #[test]
    fn a_job_that_nobody_has_seen_points_to_the_operator() {
        assert!(advice(Job(&job(&json!({})))).join("\n").contains("whether the operator runs"));
    }

    #[test]
    fn a_job_that_went_well_needs_no_advice_and_neither_does_a_word_of_a_later_release() {
        for reason in ["Scored", "InventedLater"] {
            let status = json!({ "phase": "Succeeded", "conditions": [{ "type": "Complete", "status": "True", "reason": reason }] });
            assert!(advice(Job(&job(&status))).is_empty(), "{reason}");
        }
    }
}
