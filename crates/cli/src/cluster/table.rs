//! Tables of resources.

use std::fmt::Write as _;

use jiff::Timestamp;
use kube::core::DynamicObject;
use serde_json::Value;

use super::job::JobView;
use super::kind::ResourceKind;
use crate::terminal::Look;
use crate::view::age;
use crate::view::job::short;

/// The columns of a table of resources.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResourceTable {
    pub(super) kind: ResourceKind,
    pub(super) wide: bool,
    /// Show the namespace of each resource.
    pub(super) namespaces: bool,
}

impl ResourceTable {
    pub(super) fn header(self) -> Vec<&'static str> {
        let (standard, wide): (&[_], &[_]) = match self.kind {
            ResourceKind::Job => (
                &["Name", "Phase", "Score", "Reason", "Node", "Age"],
                &["Passed", "Distorted", "Model", "Backend", "Priority", "Attempts", "Message"],
            ),
            ResourceKind::Node => (
                &["Name", "Ready", "Workers", "Jobs", "Reason", "Heartbeat", "Age"],
                &["Vendor", "Device", "Paused", "Image"],
            ),
            ResourceKind::Training => (
                &["Name", "Phase", "Samples", "Version", "Reason", "Age"],
                &["Stable", "Checkpoint", "RMSE", "SROCC", "Base"],
            ),
        };
        let namespace = self.namespaces.then_some("Namespace");
        let wide = if self.wide { wide } else { &[] };
        namespace.into_iter().chain(standard.iter().copied()).chain(wide.iter().copied()).collect()
    }

    pub(super) fn row(self, object: &DynamicObject, now: Timestamp) -> Vec<String> {
        let at = |pointer: &str| text(object.data.pointer(pointer));
        let name = object.metadata.name.clone().unwrap_or_default();
        let created = object.metadata.creation_timestamp.as_ref();
        let age = created.map_or_else(dash, |time| age::length(now.duration_since(time.0).unsigned_abs()));
        let (standard, wide) = match self.kind {
            ResourceKind::Job => {
                let job = JobView(object);
                let model = job.text("/status/model/name");
                let model = if model.is_empty() { job.text("/spec/model") } else { model };
                (
                    vec![
                        name,
                        or_dash(job.phase()),
                        job.score_cell(),
                        or_dash(job.reason()),
                        or_dash(job.node()),
                        age,
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
            ResourceKind::Node => (
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
                    age,
                ],
                vec![
                    at("/spec/gpuVendor"),
                    at("/status/detectedDevice"),
                    at("/spec/paused"),
                    at("/status/currentImage"),
                ],
            ),
            ResourceKind::Training => (
                vec![
                    name,
                    at("/status/phase"),
                    at("/status/currentSamples"),
                    at("/status/modelVersion"),
                    condition(object, "Ready", "reason"),
                    age,
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
        let wide = if self.wide { wide } else { Vec::new() };
        namespace.into_iter().chain(standard).chain(wide).collect()
    }

    pub(super) fn render(self, objects: &[DynamicObject], look: Look, now: Timestamp) -> String {
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
    let one = JobView(object).condition(type_);
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

/// Aligns rows that are printed one after the other. Column widths only grow.
#[derive(Debug, Default)]
pub(super) struct GrowingColumns(Vec<usize>);

impl GrowingColumns {
    pub(super) fn line(&mut self, cells: &[String]) -> String {
        self.0.resize(cells.len().max(self.0.len()), 0);
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(&mut self.0) {
            *width = (*width).max(cell.chars().count());
            let _ = write!(line, "{cell:width$}  ", width = *width);
        }
        format!("{}\n", line.trim_end())
    }

    /// Widens the columns for all of these rows.
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

    fn cells(table: ResourceTable, object: &DynamicObject) -> String {
        table.row(object, "2026-01-01T00:01:05Z".parse().unwrap()).join("|")
    }

    fn meta() -> Value {
        json!({ "name": "a", "namespace": "team", "creationTimestamp": "2026-01-01T00:00:00Z" })
    }

    #[test]
    fn a_job_has_its_phase_score_and_reason() {
        let job = object(json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": meta(),
            "spec": { "reference": "s3://b/r.mp4", "distorted": "s3://b/d.mp4", "backend": "cpu", "priority": 3 },
            "status": { "phase": "Succeeded", "score": 0, "passed": false, "assignedNode": "w-0", "attempts": 1,
                "message": "the score is 0", "model": { "name": "vmaf_v0.6.1" },
                "conditions": [{ "type": "Complete", "status": "True", "reason": "BelowMinScore" }] },
        }));
        let table = ResourceTable { kind: ResourceKind::Job, wide: false, namespaces: true };
        assert_eq!(cells(table, &job), "team|a|Succeeded|0.000|BelowMinScore|w-0|1m5s");
        let wide = ResourceTable { kind: ResourceKind::Job, wide: true, namespaces: false };
        assert_eq!(
            cells(wide, &job),
            "a|Succeeded|0.000|BelowMinScore|w-0|1m5s|false|d.mp4|vmaf_v0.6.1|cpu|3|1|the score is 0"
        );
    }

    #[test]
    fn a_job_without_a_status_has_dashes() {
        let job = object(
            json!({ "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": meta(), "spec": {} }),
        );
        assert_eq!(
            cells(ResourceTable { kind: ResourceKind::Job, wide: false, namespaces: false }, &job),
            "a|-|-|-|-|1m5s"
        );
    }

    #[test]
    fn nodes_and_trainings_have_their_own_columns() {
        let node = object(json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "metadata": meta(), "spec": { "replicas": 3 },
            "status": { "readyReplicas": 2, "assignedJobs": 4, "lastHeartbeat": "2026-01-01T00:01:00Z",
                "conditions": [{ "type": "Ready", "status": "False", "reason": "WorkersStarting" }] },
        }));
        let table = |kind| ResourceTable { kind, wide: false, namespaces: false };
        assert_eq!(cells(table(ResourceKind::Node), &node), "a|False|2 of 3|4|WorkersStarting|5s|1m5s");
        let training = object(json!({
            "apiVersion": "vmafx.dev/v1", "kind": "VmafxModelTraining", "metadata": meta(), "spec": {},
            "status": { "phase": "Running", "currentSamples": 12, "modelVersion": "v3",
                "conditions": [{ "type": "Ready", "status": "True", "reason": "Training" }] },
        }));
        assert_eq!(cells(table(ResourceKind::Training), &training), "a|Running|12|v3|Training|1m5s");
    }

    #[rstest]
    fn every_row_has_a_cell_for_each_column(
        #[values(ResourceKind::Job, ResourceKind::Node, ResourceKind::Training)] kind: ResourceKind,
        #[values(false, true)] wide: bool,
        #[values(false, true)] namespaces: bool,
    ) {
        let table = ResourceTable { kind, wide, namespaces };
        let empty = object(json!({ "apiVersion": "vmafx.dev/v1", "kind": "X", "metadata": {} }));
        assert_eq!(table.header().len(), table.row(&empty, Timestamp::UNIX_EPOCH).len());
    }

    #[test]
    fn columns_only_grow() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let mut columns = GrowingColumns::default();
        columns.fit(&[row(["Name", "Phase"]), row(["longer", "x"])]);
        assert_eq!(columns.line(&row(["a", "b"])), "a       b\n");
        assert_eq!(columns.line(&row(["even-longer", "b"])), "even-longer  b\n");
        assert_eq!(columns.line(&row(["a", "b"])), "a            b\n");
    }
}
