//! The explanation of a job, as a document and as text.

use std::fmt::Write as _;

use jiff::Timestamp;
use kube::core::DynamicObject;
use serde::Serialize;
use serde_json::Value;
use vmafx_controller::http::shape;
use vmafx_proto::controller::v1 as wire;

use super::advice::{advice, parse_reason};
use super::events::JobEvent;
use super::pods::PodSummary;
use crate::cluster::job::JobView;
use crate::cluster::kind::ResourceKind;
use crate::cluster::table::ResourceTable;
use crate::explain::{details, document};
use crate::terminal::Look;
use crate::view::age;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct JobExplanation<'a> {
    name: &'a str,
    namespace: &'a str,
    phase: &'a str,
    reason: &'a str,
    /// What the reason means.
    meaning: &'static str,
    message: &'a str,
    score: Option<f64>,
    advice: Vec<String>,
    conditions: &'a [Value],
    pods: &'a [PodSummary],
    events: &'a [JobEvent],
    /// The controller's explanation, if its address is set.
    controller: Option<shape::Explanation>,
    /// What could not be read, and why.
    notes: Vec<String>,
    #[serde(skip)]
    object: &'a DynamicObject,
}

const NOT_OBSERVED: &str = "The operator has not observed the job yet.";

impl<'a> JobExplanation<'a> {
    pub(super) fn new(
        object: &'a DynamicObject,
        pods: &'a [PodSummary],
        events: &'a [JobEvent],
        controller: Option<&wire::ExplainResponse>,
        notes: Vec<String>,
    ) -> Self {
        let job = JobView(object);
        let meaning = parse_reason(job.reason()).map_or("", |reason| reason.meaning().trim());
        Self {
            name: job.name(),
            namespace: object.metadata.namespace.as_deref().unwrap_or_default(),
            phase: job.phase(),
            reason: job.reason(),
            meaning: if job.conditions().is_empty() { NOT_OBSERVED } else { meaning },
            message: job.message(),
            score: job.score(),
            advice: advice(job),
            conditions: job.conditions(),
            pods,
            events,
            controller: controller.map(document),
            notes,
            object,
        }
    }

    pub(super) fn text(
        &self,
        controller: Option<&wire::ExplainResponse>,
        look: Look,
        now: Timestamp,
    ) -> String {
        let table = ResourceTable { kind: ResourceKind::Job, wide: false, namespaces: false };
        let mut text = table.render(std::slice::from_ref(self.object), look, now);
        let _ = writeln!(text);
        for line in [self.meaning, self.message].into_iter().filter(|line| !line.is_empty()) {
            let _ = writeln!(text, "{line}");
        }
        if self.object.metadata.deletion_timestamp.is_some() {
            let _ = writeln!(text, "The job is being deleted.");
        } else if !self.conditions.is_empty() && !JobView(self.object).is_observed() {
            let _ =
                writeln!(text, "The spec has changed since; the operator has not observed the change yet.");
        }
        if let Some(response) = controller {
            let _ = write!(text, "\nThe controller reports: {}", details(response, look));
        }
        if !self.advice.is_empty() {
            let _ = writeln!(text, "\nWhat to do:");
        }
        for advice in &self.advice {
            let _ = writeln!(text, "  {advice}");
        }
        self.pods_and_events(&mut text, look, now);
        for note in &self.notes {
            let _ = writeln!(text, "\nnote: {note}");
        }
        text
    }

    fn pods_and_events(&self, text: &mut String, look: Look, now: Timestamp) {
        if !self.pods.is_empty() {
            let mut table = look.table(&["Pod", "Phase", "Node", "Why"], 4);
            for pod in self.pods {
                let dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
                table.add_row([pod.name.clone(), pod.phase.clone(), dash(&pod.node), dash(&pod.why)]);
            }
            let _ = write!(text, "\n{}\n", table.trim_fmt());
        }
        if !self.events.is_empty() {
            let mut table = look.table(&["Age", "Event", "Object", "Note"], 4);
            for event in self.events {
                let age = event
                    .at
                    .map_or_else(|| "-".to_owned(), |at| age::length(now.duration_since(at).unsigned_abs()));
                let object = event.pod.clone().unwrap_or_else(|| "job".to_owned());
                table.add_row([age, event.reason.clone(), object, event.note.clone()]);
            }
            let _ = write!(text, "\n{}\n", table.trim_fmt());
        }
    }
}
