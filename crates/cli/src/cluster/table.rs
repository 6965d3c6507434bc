//! Resources as rows.

use std::fmt::Write as _;

use jiff::Timestamp;
use kube::core::DynamicObject;
use serde_json::Value;

use super::job::Job;
use super::kind::Kind;
use crate::terminal::Look;
use crate::view::age;
use crate::view::job::short;

/// Which columns are shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    pub(super) kind: Kind,
    pub(super) wide: bool,
    /// Resources of several namespaces.
    pub(super) namespaces: bool,
}

impl View {
    pub(super) fn header(self) -> Vec<&'static str> {
        let (few, more): (&[_], &[_]) = match self.kind {
            Kind::Job => (
                &["Name", "Phase", "Score", "Reason", "Node", "Age"],
                &["Passed", "Distorted", "Model", "Backend", "Priority", "Attempts", "Message"],
            ),
            Kind::Node => (
                &["Name", "Ready", "Workers", "Jobs", "Reason", "Heartbeat", "Age"],
                &["Vendor", "Device", "Paused", "Image"],
            ),
            Kind::Training => (
                &["Name", "Phase", "Samples", "Version", "Reason", "Age"],
                &["Stable", "Checkpoint", "RMSE", "SROCC", "Base"],
            ),
        };
        let namespace = self.namespaces.then_some("Namespace");
        let more = if self.wide { more } else { &[] };
        namespace.into_iter().chain(few.iter().copied()).chain(more.iter().copied()).collect()
    }

    pub(super) fn row(self, object: &DynamicObject, now: Timestamp) -> Vec<String> {
        let at = |pointer: &str| text(object.data.pointer(pointer));
        let name = object.metadata.name.clone().unwrap_or_default();
        let created = object.metadata.creation_timestamp.as_ref();
        let aged = created.map_or_else(dash, |time| age::length(now.duration_since(time.0).unsigned_abs()));
        let (few, more) = match self.kind {
            Kind::Job => {
                let job = Job(object);
                let model = job.text("/status/model/name");
                let model = if model.is_empty() { job.text("/spec/model") } else { model };
                (
                    vec![
                        name,
                        or_dash(job.phase()),
                        job.standing(),
                        or_dash(job.reason()),
                        or_dash(job.node()),
                        aged,
                    ],
                    vec![
                        at("/status/passed"),
                        or_dash(short(job.text("/spec/distorted"))),
                        or_dash(model),
                        at("/spec/backend"),
                        at("/spec/priority"),
                        at("/status/attempts"),
                        or_dash(job.message()),
                    ],
                )
            }
            Kind::Node => (
                vec![
                    name,
                    condition(object, "Ready", "status"),
                    format!(
                        "{} of {}",
                        count(object, "/status/readyReplicas"),
                        count(object, "/spec/replicas")
                    ),
                    at("/status/assignedJobs"),
                    condition(object, "Ready", "reason"),
                    since(object, "/status/lastHeartbeat", now),
                    aged,
                ],
                vec![
                    at("/spec/gpuVendor"),
                    at("/status/detectedDevice"),
                    at("/spec/paused"),
                    at("/status/currentImage"),
                ],
            ),
            Kind::Training => (
                vec![
                    name,
                    at("/status/phase"),
                    at("/status/currentSamples"),
                    at("/status/modelVersion"),
                    condition(object, "Ready", "reason"),
                    aged,
                ],
                vec![
                    at("/status/stableVersion"),
                    since(object, "/status/lastCheckpoint", now),
                    at("/status/metrics/rmse"),
                    at("/status/metrics/srocc"),
                    at("/spec/baseModel"),
                ],
            ),
        };
        let namespace = self.namespaces.then(|| object.metadata.namespace.clone().unwrap_or_default());
        let more = if self.wide { more } else { Vec::new() };
        namespace.into_iter().chain(few).chain(more).collect()
    }

    /// All of them.
    pub(super) fn table(self, objects: &[DynamicObject], look: Look, now: Timestamp) -> String {
        let header = self.header();
        let mut table = look.table(&header, header.len());
        for object in objects {
            table.add_row(self.row(object, now));
        }
        format!("{}\n", table.trim_fmt())
    }
}

fn text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => dash(),
        Some(Value::String(text)) => or_dash(text),
        Some(value) => value.to_string(),
    }
}

fn count(object: &DynamicObject, pointer: &str) -> i64 {
    object.data.pointer(pointer).and_then(Value::as_i64).unwrap_or_default()
}

fn condition(object: &DynamicObject, type_: &str, field: &str) -> String {
    let one = Job(object).condition(type_);
    text(one.map(|one| &one[field]))
}

fn since(object: &DynamicObject, pointer: &str, now: Timestamp) -> String {
    let then =
        object.data.pointer(pointer).and_then(Value::as_str).and_then(|text| text.parse::<Timestamp>().ok());
    then.map_or_else(dash, |then| age::length(now.duration_since(then).unsigned_abs()))
}

fn dash() -> String {
    "-".to_owned()
}

fn or_dash(text: &str) -> String {
    if text.is_empty() { dash() } else { text.to_owned() }
}

/// Rows one after the other, in columns that only grow.
#[derive(Debug, Default)]
pub(super) struct Rolling(Vec<usize>);

impl Rolling {
    /// One line.
    pub(super) fn line(&mut self, cells: &[String]) -> String {
        self.0.resize(cells.len().max(self.0.len()), 0);
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(&mut self.0) {
            *width = (*width).max(cell.chars().count());
            let _ = write!(line, "{cell:width$}  ", width = *width);
        }
        format!("{}\n", line.trim_end())
    }

    /// Makes room for all of these before the first is written.
    pub(super) fn fit(&mut self, rows: &[Vec<String>]) {
        for row in rows {
            self.line(row);
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> DynamicObject {
        serde_json::from_value(value).unwrap()
    }

    fn words(view: View, object: &DynamicObject) -> String {
        view.row(object, "2026-01-01T00:01:05Z".parse().unwrap()).join("|")
    }

    fn meta() -> Value {
        json!({ "name": "a", "namespace": "team", "creationTimestamp": "2026-01-01T00:00:00Z" })
    }

    #[test]
    fn a_job_tells_where_it_stands_and_why() {
        let job = object(json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": meta(),
            "spec": { "reference": "s3://b/r.mp4", "distorted": "s3://b/d.mp4", "backend": "cpu", "priority": 3 },
            "status": { "phase": "Succeeded", "score": 0, "passed": false, "assignedNode": "w-0", "attempts": 1,
                "message": "the score is 0", "model": { "name": "vmaf_v0.6.1" },
                "conditions": [{ "type": "Complete", "status": "True", "reason": "BelowMinScore" }] },
        }));
        let view = View { kind: Kind::Job, wide: false, namespaces: true };
        assert_eq!(words(view, &job), "team|a|Succeeded|0.000|BelowMinScore|w-0|1m5s");
        let wide = View { kind: Kind::Job, wide: true, namespaces: false };
        assert_eq!(
            words(wide, &job),
            "a|Succeeded|0.000|BelowMinScore|w-0|1m5s|false|d.mp4|vmaf_v0.6.1|cpu|3|1|the score is 0"
        );
    }

    #[test]
    fn what_nobody_has_looked_at_has_dashes() {
        let job = object(
            json!({ "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": meta(), "spec": {} }),
        );
        assert_eq!(words(View { kind: Kind::Job, wide: false, namespaces: false }, &job), "a|-|-|-|-|1m5s");
    }

    #[test]
    fn nodes_and_trainings_have_their_own_columns() {
        let node = object(json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "metadata": meta(), "spec": { "replicas": 3 },
            "status": { "readyReplicas": 2, "assignedJobs": 4, "lastHeartbeat": "2026-01-01T00:01:00Z",
                "conditions": [{ "type": "Ready", "status": "False", "reason": "WorkersStarting" }] },
        }));
        let view = |kind| View { kind, wide: false, namespaces: false };
        assert_eq!(words(view(Kind::Node), &node), "a|False|2 of 3|4|WorkersStarting|5s|1m5s");
        let training = object(json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxModelTraining", "metadata": meta(), "spec": {},
            "status": { "phase": "Running", "currentSamples": 12, "modelVersion": "v3",
                "conditions": [{ "type": "Ready", "status": "True", "reason": "Training" }] },
        }));
        assert_eq!(words(view(Kind::Training), &training), "a|Running|12|v3|Training|1m5s");
    }

    #[rstest]
    fn every_row_has_a_cell_for_each_column(
        #[values(Kind::Job, Kind::Node, Kind::Training)] kind: Kind,
        #[values(false, true)] wide: bool,
        #[values(false, true)] namespaces: bool,
    ) {
        let view = View { kind, wide, namespaces };
        let empty = object(json!({ "apiVersion": "vmafx.dev/v1", "kind": "X", "metadata": {} }));
        assert_eq!(view.header().len(), view.row(&empty, Timestamp::UNIX_EPOCH).len());
    }

    #[test]
    fn columns_only_grow() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let mut rolling = Rolling::default();
        rolling.fit(&[row(["Name", "Phase"]), row(["longer", "x"])]);
        assert_eq!(rolling.line(&row(["a", "b"])), "a       b\n");
        assert_eq!(rolling.line(&row(["even-longer", "b"])), "even-longer  b\n");
        assert_eq!(rolling.line(&row(["a", "b"])), "a            b\n");
    }
}
