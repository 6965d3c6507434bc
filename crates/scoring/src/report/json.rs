//! libvmaf's JSON with an additional section.
//!
//! A program that reads the JSON of `vmaf --json` or of ffmpeg's filter can read this too: `version`, `fps`, `frames`,
//! `pooled_metrics` and `aggregate_metrics` are where it expects them. What libvmaf does not write is added: more poolings in
//! each entry of `pooled_metrics`, and everything else below the key `vmafx`. Numbers have all their digits, so that parsing
//! them gives the same bits.
//!
//! One comparison is one object, as libvmaf writes it. A ladder is an array of such objects.

use std::io::Write;

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use vmafx_job::PooledScores;

use crate::outcome::{Alignment, InputDetails, ScoringOutcome};
use crate::report::metrics::{self, Metric};
use crate::report::pooling::{self, Pooled};
use crate::report::shots::{self, ShotSummary};
use crate::report::summary::{ModelSummary, ScoreSummary, SummaryError};
use crate::report::{ReportError, ScoringReport, wording};

pub fn write(report: &ScoringReport<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
    let documents: Vec<_> = report
        .outcomes
        .iter()
        .map(|outcome| ComparisonDocument::new(outcome, report.speed))
        .collect::<Result<_, SummaryError>>()?;
    match documents.as_slice() {
        [one] => serde_json::to_writer_pretty(&mut *out, one)?,
        several => serde_json::to_writer_pretty(&mut *out, several)?,
    }
    writeln!(out)?;
    Ok(())
}

#[derive(Serialize)]
struct ComparisonDocument<'a> {
    version: &'a str,
    fps: f64,
    frames: FrameEntries<'a>,
    pooled_metrics: PooledMetrics,
    aggregate_metrics: serde_json::Map<String, serde_json::Value>,
    vmafx: VmafxSection<'a>,
}

/// What libvmaf does not write.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct VmafxSection<'a> {
    version: &'a str,
    engine: &'a str,
    reference: &'a InputDetails,
    distorted: &'a InputDetails,
    alignment: &'a Alignment,
    models: Vec<ModelSummary>,
    shots: Vec<ShotSummary>,
    warnings: Vec<WarningEntry<'a>>,
}

/// A warning as data, and as a sentence.
#[derive(Serialize)]
struct WarningEntry<'a> {
    #[serde(flatten)]
    warning: &'a crate::outcome::Warning,
    message: String,
}

impl<'a> ComparisonDocument<'a> {
    fn new(outcome: &'a ScoringOutcome, speed: Option<f64>) -> Result<Self, SummaryError> {
        let summary = ScoreSummary::of(outcome)?;
        let metrics = metrics::of(outcome);
        let pooled = metrics
            .iter()
            .map(|metric| match pooling::pool(&outcome.frames, &metric.values) {
                Ok(pooled) => Ok((metric.key.clone(), pooled)),
                Err(source) => Err(SummaryError::Pooling { name: metric.key.clone(), source }),
            })
            .collect::<Result<_, _>>()?;
        let warnings = outcome
            .warnings
            .iter()
            .map(|warning| WarningEntry { warning, message: wording::warning(warning) })
            .collect();
        Ok(Self {
            version: &outcome.engine.libvmaf,
            // The scoring speed and not the frame rate of the clip, with two decimals, as libvmaf writes it.
            fps: (speed.unwrap_or(0.0) * 100.0).round() / 100.0,
            frames: FrameEntries { numbers: &outcome.frames, metrics },
            pooled_metrics: PooledMetrics(pooled),
            aggregate_metrics: serde_json::Map::new(),
            vmafx: VmafxSection {
                version: &outcome.engine.vmafx,
                engine: &outcome.engine.features,
                reference: &outcome.reference,
                distorted: &outcome.distorted,
                alignment: &outcome.alignment,
                models: summary.models,
                shots: shots::of(outcome),
                warnings,
            },
        })
    }
}

/// The frames, serialized one by one, because a JSON tree of a long clip would be larger than its video.
struct FrameEntries<'a> {
    numbers: &'a [u64],
    metrics: Vec<Metric<'a>>,
}

#[derive(Serialize)]
struct FrameEntry<'a> {
    #[serde(rename = "frameNum")]
    number: u64,
    metrics: FrameMetrics<'a>,
}

struct FrameMetrics<'a> {
    metrics: &'a [Metric<'a>],
    index: usize,
}

impl Serialize for FrameEntries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.numbers.len()))?;
        for (index, &number) in self.numbers.iter().enumerate() {
            list.serialize_element(&FrameEntry {
                number,
                metrics: FrameMetrics { metrics: &self.metrics, index },
            })?;
        }
        list.end()
    }
}

impl Serialize for FrameMetrics<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.metrics.len()))?;
        for metric in self.metrics {
            map.serialize_entry(&metric.key, &metric.values.get(self.index))?;
        }
        map.end()
    }
}

/// By metric, in the order of the columns.
struct PooledMetrics(Vec<(String, Pooled)>);

/// libvmaf's four poolings in libvmaf's order, then the others.
#[derive(Serialize)]
struct PooledEntry {
    min: f64,
    max: f64,
    mean: f64,
    harmonic_mean: f64,
    stddev: f64,
    p1: f64,
    p5: f64,
    p10: f64,
    p50: f64,
}

impl From<PooledScores> for PooledEntry {
    fn from(scores: PooledScores) -> Self {
        let PooledScores { mean, harmonic_mean, min, max, stddev, p1, p5, p10, p50 } = scores;
        Self { min, max, mean, harmonic_mean, stddev, p1, p5, p10, p50 }
    }
}

impl Serialize for PooledMetrics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entry = |pooled: &Pooled| PooledEntry::from(PooledScores::from(pooled));
        serializer.collect_map(self.0.iter().map(|(key, pooled)| (key, entry(pooled))))
    }
}
