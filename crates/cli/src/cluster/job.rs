//! Read access to the fields of a VmafxJob, whichever release wrote it.

use kube::core::DynamicObject;
use serde_json::Value;
use vmafx_api::conditions::JobCondition;

#[derive(Clone, Copy, Debug)]
pub(super) struct JobView<'a>(pub(super) &'a DynamicObject);

impl<'a> JobView<'a> {
    pub(super) fn name(self) -> &'a str {
        self.0.metadata.name.as_deref().unwrap_or_default()
    }

    /// The string at a JSON pointer; empty if there is none.
    pub(super) fn text(self, pointer: &str) -> &'a str {
        self.0.data.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    fn flag(self, pointer: &str) -> bool {
        self.0.data.pointer(pointer).and_then(Value::as_bool).unwrap_or(false)
    }

    /// Empty until the operator has observed the job.
    pub(super) fn phase(self) -> &'a str {
        self.text("/status/phase")
    }

    pub(super) fn score(self) -> Option<f64> {
        self.0.data.pointer("/status/score").and_then(Value::as_f64)
    }

    /// Whether the score reached `minScore`; `None` if there is no minimum.
    pub(super) fn passed(self) -> Option<bool> {
        self.0.data.pointer("/status/passed").and_then(Value::as_bool)
    }

    pub(super) fn node(self) -> &'a str {
        self.text("/status/assignedNode")
    }

    pub(super) fn message(self) -> &'a str {
        self.text("/status/message")
    }

    pub(super) fn suspend(self) -> bool {
        self.flag("/spec/suspend")
    }

    pub(super) fn cancel(self) -> bool {
        self.flag("/spec/cancel")
    }

    /// `execution: Pod`, in contrast to the controller's queue.
    pub(super) fn runs_in_own_pods(self) -> bool {
        self.text("/spec/execution") == "Pod"
    }

    pub(super) fn conditions(self) -> &'a [Value] {
        self.0
            .data
            .pointer("/status/conditions")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    pub(super) fn condition(self, type_: &str) -> Option<&'a Value> {
        self.conditions().iter().find(|one| one["type"] == type_)
    }

    pub(super) fn holds(self, type_: &str) -> bool {
        self.condition(type_).is_some_and(|one| one["status"] == "True")
    }

    pub(super) fn has_ended(self) -> bool {
        self.holds(JobCondition::Complete.as_str()) || self.holds(JobCondition::Failed.as_str())
    }

    /// Whether the operator has observed the current generation of the spec.
    pub(super) fn is_observed(self) -> bool {
        let observed = self.0.data.pointer("/status/observedGeneration").and_then(Value::as_i64);
        match (observed, self.0.metadata.generation) {
            (Some(observed), Some(generation)) => observed >= generation,
            _ => false,
        }
    }

    /// The condition whose reason explains the current phase.
    fn deciding_condition(self) -> Option<&'a Value> {
        use JobCondition::{Accepted, Complete, Failed, Running, Suspended};
        let last = [Complete, Failed, Suspended].into_iter().find(|one| self.holds(one.as_str()));
        let accepted = if self.holds(Accepted.as_str()) { Running } else { Accepted };
        self.condition(last.unwrap_or(accepted).as_str())
    }

    pub(super) fn reason(self) -> &'a str {
        self.deciding_condition().and_then(|one| one["reason"].as_str()).unwrap_or_default()
    }

    /// The score, or a dash.
    pub(super) fn score_cell(self) -> String {
        self.score().map_or_else(|| "-".to_owned(), |score| format!("{score:.3}"))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn job(conditions: &Value) -> DynamicObject {
        serde_json::from_value(json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": { "name": "a", "generation": 2 },
            "spec": {}, "status": { "phase": "Pending", "observedGeneration": 2, "conditions": conditions },
        }))
        .unwrap()
    }

    #[rstest]
    #[case(&[("Accepted", "False", "ControllerUnreachable"), ("Running", "False", "x")], "ControllerUnreachable")]
    #[case(&[("Accepted", "True", "Submitted"), ("Running", "False", "WaitingForSlot")], "WaitingForSlot")]
    #[case(&[("Accepted", "True", "Submitted"), ("Complete", "True", "Scored"), ("Running", "False", "x")], "Scored")]
    #[case(&[("Accepted", "False", "Suspended"), ("Suspended", "True", "Suspended")], "Suspended")]
    #[case(&[], "")]
    fn the_reason_is_that_of_the_deciding_condition(
        #[case] conditions: &[(&str, &str, &str)],
        #[case] expected: &str,
    ) {
        let conditions: Vec<Value> = conditions
            .iter()
            .map(|(type_, status, reason)| json!({ "type": type_, "status": status, "reason": reason }))
            .collect();
        assert_eq!(JobView(&job(&json!(conditions))).reason(), expected);
    }

    #[test]
    fn a_score_of_zero_is_a_score() {
        let mut object = job(&json!([]));
        assert_eq!(JobView(&object).score_cell(), "-");
        object.data["status"]["score"] = json!(0);
        assert_eq!(JobView(&object).score_cell(), "0.000");
    }

    #[test]
    fn a_status_of_an_older_spec_does_not_count() {
        let mut object = job(&json!([]));
        assert!(JobView(&object).is_observed());
        object.metadata.generation = Some(3);
        assert!(!JobView(&object).is_observed());
    }
}
