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

/// What became of `a` and `b`, which wait at first, after news.
fn after(goal: &Goal, news: Vec<News>) -> (ControlFlow<()>, Waited) {
    let jobs = [job("a", "1", "Pending"), job("b", "2", "Pending")];
    let mut waiting = Waiting::new(goal, &jobs);
    let mut flow = ControlFlow::Continue(());
    for one in news {
        assert!(flow.is_continue(), "it goes on after the end");
        flow = waiting.hear(one);
    }
    (flow, waiting.end(&jobs))
}

fn is(name: &str, uid: &str, phase: &str) -> News {
    News::Is(Box::new(job(name, uid, phase)))
}

fn gone(name: &str, uid: &str) -> News {
    News::Gone(Box::new(job(name, uid, "Pending")))
}

#[test]
fn what_a_job_does_after_it_was_where_it_was_wanted_is_no_matter() {
    let news = vec![is("a", "1", "Running"), is("a", "1", "Succeeded"), is("b", "2", "Running")];
    let (flow, waited) = after(&Goal::Phase(Phase::Running), news);
    assert!(flow.is_break());
    assert_eq!(waited.verdict(&Goal::Running), Exit::Done);
    let (_, waited) =
        after(&Goal::Done, vec![is("a", "1", "Succeeded"), gone("a", "1"), is("b", "2", "Failed")]);
    assert_eq!(waited.verdict(&Goal::Done), Exit::Done, "it had ended before it was deleted");
    assert_eq!(Job(&waited.jobs[0]).phase(), "Succeeded");
}

#[test]
fn one_that_ends_otherwise_or_is_deleted_does_not_end_the_wait_for_the_others() {
    let (flow, waited) = after(&Goal::Complete, vec![is("a", "1", "Failed")]);
    assert!(flow.is_continue() && waited.open == ["b"] && waited.missed == [("a".into(), "Failed".into())]);
    assert_eq!(waited.verdict(&Goal::Complete), Exit::TimedOut);
    let (flow, waited) = after(&Goal::Complete, vec![gone("a", "1"), is("b", "2", "Succeeded")]);
    assert!(flow.is_break() && waited.gone == ["a"]);
    assert_eq!(waited.verdict(&Goal::Complete), Exit::BelowMinimum);
}

#[test]
fn a_job_that_is_not_listed_is_gone_and_another_of_its_name_is_not_it() {
    let news = vec![is("a", "9", "Succeeded"), is("b", "2", "Pending"), News::Listed];
    let (flow, waited) = after(&Goal::Complete, news);
    assert!(flow.is_continue() && waited.gone == ["a"] && waited.open == ["b"]);
    assert_eq!(Job(&waited.jobs[0]).phase(), "Pending", "as it was last seen itself");
}
