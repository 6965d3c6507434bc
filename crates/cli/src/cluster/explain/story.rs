//! What is said of a job, to people and to programs.

use std::fmt::Write as _;

use jiff::Timestamp;
use kube::core::DynamicObject;
use serde::Serialize;
use serde_json::Value;
use vmafx_controller::http::shape;
use vmafx_proto::controller::v1 as wire;

use super::advice::{advice, known};
use super::events::Told;
use super::pods::Running;
use crate::cluster::job::Job;
use crate::cluster::kind::Kind;
use crate::cluster::table::View;
use crate::explain::{document, reasons};
use crate::terminal::Look;
use crate::view::age;

/// Why a job is where it is.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Story<'a> {
    name: &'a str,
    namespace: &'a str,
    phase: &'a str,
    reason: &'a str,
    /// What that word means.
    meaning: &'static str,
    message: &'a str,
    score: Option<f64>,
    /// What to do next.
    advice: Vec<String>,
    conditions: &'a [Value],
    pods: &'a [Running],
    events: &'a [Told],
    /// The controller's own words, if it was asked.
    controller: Option<shape::Explanation>,
    /// What could not be read.
    notes: Vec<String>,
    #[serde(skip)]
    object: &'a DynamicObject,
}

const UNSEEN: &str = "The operator has not seen the job yet.";

impl<'a> Story<'a> {
    pub(super) fn new(
        object: &'a DynamicObject,
        pods: &'a [Running],
        events: &'a [Told],
        live: Option<&wire::ExplainResponse>,
        notes: Vec<String>,
    ) -> Self {
        let job = Job(object);
        let meaning = known(job.reason()).map_or("", |reason| reason.meaning().trim());
        Self {
            name: job.name(),
            namespace: object.metadata.namespace.as_deref().unwrap_or_default(),
            phase: job.phase(),
            reason: job.reason(),
            meaning: if job.conditions().is_empty() { UNSEEN } else { meaning },
            message: job.message(),
            score: job.score(),
            advice: advice(job),
            conditions: job.conditions(),
            pods,
            events,
            controller: live.map(document),
            notes,
            object,
        }
    }

    /// For people: where it stands, why, what to do, and what happened.
    pub(super) fn text(&self, live: Option<&wire::ExplainResponse>, look: Look, now: Timestamp) -> String {
        let view = View { kind: Kind::Job, wide: false, namespaces: false };
        let mut text = view.table(std::slice::from_ref(self.object), look, now);
        let _ = writeln!(text);
        for words in [self.meaning, self.message].into_iter().filter(|words| !words.is_empty()) {
            let _ = writeln!(text, "{words}");
        }
        if self.object.metadata.deletion_timestamp.is_some() {
            let _ = writeln!(text, "It is being deleted.");
        } else if !self.conditions.is_empty() && !Job(self.object).is_observed() {
            let _ = writeln!(text, "The spec was changed since; the operator has not seen that yet.");
        }
        if let Some(why) = live {
            let _ = write!(text, "\nThe controller says: {}", reasons(why, look));
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
            let mut table = look.table(&["Ago", "Event", "Of", "Note"], 4);
            for event in self.events {
                let ago = event
                    .at
                    .map_or_else(|| "-".to_owned(), |at| age::length(now.duration_since(at).unsigned_abs()));
                let of = event.pod.clone().unwrap_or_else(|| "job".to_owned());
                table.add_row([ago, event.reason.clone(), of, event.note.clone()]);
            }
            let _ = write!(text, "\n{}\n", table.trim_fmt());
        }
    }
}
