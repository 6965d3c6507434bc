//! Submissions that the controller refuses until an administrator changes something.

use serde_json::json;

use crate::agent::Agent;
use crate::controller::{Controller, TOKEN};
use crate::harness::{Harness, condition, message, phase};

const OPERATOR_TOKEN: &str = "operator-0123456789abcdef";

#[tokio::test]
async fn a_job_outside_the_scoring_roots_waits_and_is_submitted_when_they_are_extended() {
    let mut harness = Harness::start().await;
    harness.create("outside", json!({ "reference": "file:///media/r.y4m" })).await;
    let refused = harness.until_reason("outside", "Accepted", "InputRefused").await;
    assert_eq!(condition(&refused, "Failed").0, "False");
    assert!(message(&refused).contains("scoring.reference"), "{}", message(&refused));
    harness.until_events(&["InputRefused"]).await;
    // A refused job does not hold up the others.
    harness.create("inside", json!({})).await;
    harness.until_reason("inside", "Accepted", "Submitted").await;

    harness.controller.kill().unwrap();
    harness.controller.exited().await.unwrap();
    harness.controller.set_env("VMAFX_SCORING_ROOTS", "/clips,/media");
    harness.controller.restart().await.unwrap();
    harness.until_reason("outside", "Accepted", "Submitted").await;
    let agent = Agent::register(&harness.controller, "gpu-0").await;
    for _ in 0..2 {
        let work = agent.pull().await;
        agent.score(&work, 90.0).await;
    }
    harness.until_phase("outside", "Succeeded").await;
}

/// With report roots, a VmafxJob cannot write among the clips, where it could replace what belongs to others.
#[tokio::test]
async fn a_report_among_the_clips_waits_until_it_is_inside_the_report_roots() {
    let controller = Controller::with(|config| config.env("VMAFX_REPORT_ROOTS", "/reports")).await;
    let address = controller.grpc();
    let harness = Harness::reaching(controller, address, &[]).await;
    let report = json!({ "reportURI": "file:///clips/master.json", "scoring": { "overwriteReport": true } });
    harness.create("overwrites", report).await;
    let refused = harness.until_reason("overwrites", "Accepted", "InputRefused").await;
    assert!(message(&refused).contains("VMAFX_REPORT_ROOTS"), "{}", message(&refused));
    harness.create("beside", json!({ "reportURI": "file:///reports/r.json" })).await;
    harness.until_reason("beside", "Accepted", "Submitted").await;
    assert_eq!(harness.controller.jobs().await.len(), 1);
}

/// The token of the test, and one for the operator with this role.
fn tokens(role: &str) -> String {
    format!(
        "tokens:\n- {{token: {TOKEN}, tenant: acme, roles: ['vmafx:writer', 'vmafx:node'], subject: test}}\n\
         - {{token: {OPERATOR_TOKEN}, tenant: acme, roles: ['{role}'], subject: operator}}\n"
    )
}

#[tokio::test]
async fn a_job_that_the_operator_may_not_submit_waits_and_is_submitted_when_it_may() {
    let controller = Controller::with(|config| config.tokens(&tokens("vmafx:reader"))).await;
    let address = controller.grpc();
    let harness = Harness::reaching(controller, address, &[("VMAFX_CONTROLLER_TOKEN", OPERATOR_TOKEN)]).await;
    harness.create("trailer", json!({})).await;
    let refused = harness.until_reason("trailer", "Accepted", "Forbidden").await;
    assert_eq!((phase(&refused).as_str(), condition(&refused, "Failed").0.as_str()), ("Pending", "False"));
    assert!(message(&refused).contains("vmafx:writer"), "{}", message(&refused));
    harness.until_events(&["Forbidden"]).await;
    assert_eq!(harness.controller.jobs().await, []);

    harness.controller.set_tokens(&tokens("vmafx:writer")).unwrap();
    harness.until_reason("trailer", "Accepted", "Submitted").await;
    let agent = Agent::register(&harness.controller, "gpu-0").await;
    agent.score(&agent.pull().await, 90.0).await;
    harness.until_phase("trailer", "Succeeded").await;
    assert_eq!(harness.controller.jobs().await.len(), 1);
}

#[tokio::test]
async fn a_job_beyond_a_limit_of_its_tenant_waits_and_is_submitted_when_there_is_room() {
    let controller = Controller::with(|config| config.env("VMAFX_LIMITS_PENDING_JOBS", "1")).await;
    let address = controller.grpc();
    let harness = Harness::reaching(controller, address, &[]).await;
    harness.create("first", json!({})).await;
    harness.until_reason("first", "Accepted", "Submitted").await;
    harness.create("second", json!({})).await;
    let second = harness.until_reason("second", "Accepted", "QuotaExceeded").await;
    assert_eq!((phase(&second).as_str(), condition(&second, "Accepted").0.as_str()), ("Pending", "False"));
    assert!(message(&second).contains("limit pendingJobs"), "{}", message(&second));
    harness.until_events(&["QuotaExceeded"]).await;

    let agent = Agent::register(&harness.controller, "gpu-0").await;
    agent.score(&agent.pull().await, 90.0).await;
    harness.until_phase("first", "Succeeded").await;
    harness.until_reason("second", "Accepted", "Submitted").await;
    agent.score(&agent.pull().await, 90.0).await;
    harness.until_phase("second", "Succeeded").await;
    harness.assert_never_unreachable();
}

#[tokio::test]
async fn a_priority_beyond_the_range_of_the_operator_is_rejected_with_the_range() {
    let harness = Harness::start().await;
    harness.create("urgent", json!({ "priority": 5000 })).await;
    let urgent = harness.until_phase("urgent", "Failed").await;
    assert_eq!(condition(&urgent, "Failed"), ("True".to_owned(), "Rejected".to_owned()));
    assert!(message(&urgent).contains("priority: must be between -1000 and 1000"), "{}", message(&urgent));
}

#[tokio::test]
async fn a_refused_job_fails_at_its_deadline_and_an_invalid_one_at_once() {
    let harness = Harness::start().await;
    harness.create("late", json!({ "reference": "file:///media/r.y4m", "activeDeadlineSeconds": 3 })).await;
    harness.create("invalid", json!({ "reportURI": "file:///clips/report.docx" })).await;
    let late = harness.until_phase("late", "Failed").await;
    assert_eq!(condition(&late, "Failed"), ("True".to_owned(), "DeadlineExceeded".to_owned()));
    assert!(message(&late).contains("scoring.reference"), "{}", message(&late));
    assert!(late.status.unwrap().finished_at.is_some());
    let invalid = harness.until_phase("invalid", "Failed").await;
    assert_eq!(condition(&invalid, "Failed"), ("True".to_owned(), "Rejected".to_owned()));
}
