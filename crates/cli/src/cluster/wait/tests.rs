use serde_json::json;
use vmafx_api::job::Phase;

use super::*;

/// A job in a phase, with the condition that goes with it.
fn job(name: &str, uid: &str, phase: &str) -> DynamicObject {
    let holds = match phase {
        "Succeeded" => "Complete",
        "Failed" => "Failed",
        "Running" => "Running",
        _ => "Accepted",
    };
    serde_json::from_value(json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob",
        "metadata": { "name": name, "uid": uid, "generation": 1 },
        "status": { "phase": phase, "observedGeneration": 1, "conditions": [{ "type": holds, "status": "True" }] },
    }))
    .unwrap()
}

/// The result for the jobs `a` and `b`, which are pending at first, after these events.
fn after(goal: &WaitGoal, events: Vec<WatchEvent>) -> (ControlFlow<()>, WaitResult) {
    let jobs = [job("a", "1", "Pending"), job("b", "2", "Pending")];
    let mut waiter = ResourceWaiter::new(goal, &jobs);
    let mut flow = ControlFlow::Continue(());
    for event in events {
        assert!(flow.is_continue(), "the wait continues after its end");
        flow = waiter.on_event(event);
    }
    (flow, waiter.finish(&jobs))
}

fn applied(name: &str, uid: &str, phase: &str) -> WatchEvent {
    WatchEvent::Applied(Box::new(job(name, uid, phase)))
}

fn deleted(name: &str, uid: &str) -> WatchEvent {
    WatchEvent::Deleted(Box::new(job(name, uid, "Pending")))
}

#[test]
fn changes_after_a_job_reached_the_state_do_not_count() {
    let events =
        vec![applied("a", "1", "Running"), applied("a", "1", "Succeeded"), applied("b", "2", "Running")];
    let (flow, result) = after(&WaitGoal::Phase(Phase::Running), events);
    assert!(flow.is_break());
    assert_eq!(result.report(&WaitGoal::Running), Exit::Done);
    let (_, result) = after(
        &WaitGoal::Done,
        vec![applied("a", "1", "Succeeded"), deleted("a", "1"), applied("b", "2", "Failed")],
    );
    assert_eq!(result.report(&WaitGoal::Done), Exit::Done, "it had ended before it was deleted");
    assert_eq!(JobView(&result.jobs[0]).phase(), "Succeeded");
}

#[test]
fn a_job_that_ends_otherwise_or_is_deleted_does_not_end_the_wait_for_the_others() {
    let (flow, result) = after(&WaitGoal::Complete, vec![applied("a", "1", "Failed")]);
    assert!(
        flow.is_continue() && result.pending == ["b"] && result.missed == [("a".into(), "Failed".into())]
    );
    assert_eq!(result.report(&WaitGoal::Complete), Exit::TimedOut);
    let (flow, result) = after(&WaitGoal::Complete, vec![deleted("a", "1"), applied("b", "2", "Succeeded")]);
    assert!(flow.is_break() && result.deleted == ["a"]);
    assert_eq!(result.report(&WaitGoal::Complete), Exit::BelowMinimum);
}

#[test]
fn a_job_that_is_not_listed_is_deleted_even_if_another_has_its_name() {
    let events = vec![applied("a", "9", "Succeeded"), applied("b", "2", "Pending"), WatchEvent::Listed];
    let (flow, result) = after(&WaitGoal::Complete, events);
    assert!(flow.is_continue() && result.deleted == ["a"] && result.pending == ["b"]);
    assert_eq!(JobView(&result.jobs[0]).phase(), "Pending", "the last observed state of the job itself");
}
