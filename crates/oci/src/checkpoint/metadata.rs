use std::collections::BTreeMap;

use jiff::Timestamp;

use super::annotations::{AnnotationReader, AnnotationWriter, CheckpointMetadataError};
use super::version_tag;
use crate::digest::Digest;

const CREATED: &str = "org.opencontainers.image.created";
const TITLE: &str = "org.opencontainers.image.title";
const VERSION: &str = "org.opencontainers.image.version";

/// The annotations of a checkpoint. Numbers survive the round trip bit for bit.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckpointMetadata {
    pub name: String,
    /// Empty outside Kubernetes.
    pub namespace: String,
    /// UID of the resource, which distinguishes it from an earlier one of the same name; empty outside Kubernetes.
    pub uid: String,
    /// Number of the checkpoint within its training, from 1.
    pub number: u64,
    pub created: Timestamp,
    /// The model that training started from.
    pub base_model: String,
    /// Digest of the base model's JSON, `sha256:…`.
    pub base_digest: String,
    /// The manifest of the previous checkpoint.
    pub parent: Option<Digest>,
    pub samples: u64,
    pub refused: u64,
    /// The cursor from which the stream of samples resumes.
    pub cursor: String,
    /// Every sample, predicted before it was learned from.
    pub all: ModelComparison,
    /// As `all`, over the most recent samples only.
    pub window: ModelComparison,
    /// The held-out set of the gate.
    pub held_out: ModelComparison,
    pub gate_passed: bool,
    pub gate_message: String,
    pub seed: u64,
    /// Decay of the learner's exponential moving average.
    pub ema: f64,
}

/// How well the trained model and its base model predict the same samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ModelComparison {
    pub model: PredictionMetrics,
    pub base: PredictionMetrics,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PredictionMetrics {
    pub count: u64,
    /// Root mean squared error, in points of score.
    pub rmse: f64,
    /// Pearson correlation; `None` where it is undefined.
    pub plcc: Option<f64>,
    /// Spearman rank correlation; `None` where it is undefined.
    pub srocc: Option<f64>,
}

impl CheckpointMetadata {
    /// The tag, `<name>-v000007`.
    pub fn version(&self) -> String {
        version_tag(&self.name, self.number)
    }

    pub fn annotations(&self) -> BTreeMap<String, String> {
        let mut out = AnnotationWriter::default();
        out.put(CREATED, self.created);
        out.put(TITLE, &self.name);
        out.put(VERSION, self.version());
        out.put("dev.vmafx.training.namespace", &self.namespace);
        out.put("dev.vmafx.training.uid", &self.uid);
        out.put("dev.vmafx.checkpoint.number", self.number);
        out.put_optional("dev.vmafx.checkpoint.parent", self.parent.as_ref());
        out.put("dev.vmafx.base.name", &self.base_model);
        out.put("dev.vmafx.base.digest", &self.base_digest);
        out.put("dev.vmafx.samples.accepted", self.samples);
        out.put("dev.vmafx.samples.refused", self.refused);
        out.put("dev.vmafx.samples.cursor", &self.cursor);
        for (part, comparison) in self.comparisons() {
            for (whose, metrics) in [("model", comparison.model), ("base", comparison.base)] {
                let key = |what: &str| format!("dev.vmafx.{part}.{whose}.{what}");
                out.put(&key("count"), metrics.count);
                out.put(&key("rmse"), metrics.rmse);
                out.put_optional(&key("plcc"), metrics.plcc);
                out.put_optional(&key("srocc"), metrics.srocc);
            }
        }
        out.put("dev.vmafx.gate.passed", self.gate_passed);
        out.put("dev.vmafx.gate.message", &self.gate_message);
        out.put("dev.vmafx.learner.seed", self.seed);
        out.put("dev.vmafx.learner.ema", self.ema);
        out.finish()
    }

    /// Parses annotations. Unknown ones are ignored; the error names a missing one.
    pub fn parse(annotations: &BTreeMap<String, String>) -> Result<Self, CheckpointMetadataError> {
        let from = AnnotationReader(annotations);
        let metrics = |part: &str, whose: &str| -> Result<PredictionMetrics, CheckpointMetadataError> {
            let key = |what: &str| format!("dev.vmafx.{part}.{whose}.{what}");
            Ok(PredictionMetrics {
                count: from.get(&key("count"))?,
                rmse: from.get(&key("rmse"))?,
                plcc: from.get_optional(&key("plcc"))?,
                srocc: from.get_optional(&key("srocc"))?,
            })
        };
        let comparison = |part: &str| -> Result<ModelComparison, CheckpointMetadataError> {
            Ok(ModelComparison { model: metrics(part, "model")?, base: metrics(part, "base")? })
        };
        let metadata = Self {
            name: from.get(TITLE)?,
            namespace: from.get("dev.vmafx.training.namespace")?,
            uid: from.get("dev.vmafx.training.uid")?,
            number: from.get("dev.vmafx.checkpoint.number")?,
            created: from.get(CREATED)?,
            base_model: from.get("dev.vmafx.base.name")?,
            base_digest: from.get("dev.vmafx.base.digest")?,
            parent: from.get_optional("dev.vmafx.checkpoint.parent")?,
            samples: from.get("dev.vmafx.samples.accepted")?,
            refused: from.get("dev.vmafx.samples.refused")?,
            cursor: from.get("dev.vmafx.samples.cursor")?,
            all: comparison(ALL)?,
            window: comparison(WINDOW)?,
            held_out: comparison(HELD_OUT)?,
            gate_passed: from.get("dev.vmafx.gate.passed")?,
            gate_message: from.get("dev.vmafx.gate.message")?,
            seed: from.get("dev.vmafx.learner.seed")?,
            ema: from.get("dev.vmafx.learner.ema")?,
        };
        let version: String = from.get(VERSION)?;
        if version == metadata.version() {
            Ok(metadata)
        } else {
            Err(CheckpointMetadataError::invalid(VERSION, &version))
        }
    }

    fn comparisons(&self) -> [(&'static str, ModelComparison); 3] {
        [(ALL, self.all), (WINDOW, self.window), (HELD_OUT, self.held_out)]
    }
}

const ALL: &str = "evaluation.all";
const WINDOW: &str = "evaluation.window";
const HELD_OUT: &str = "gate.held-out";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn metadata() -> CheckpointMetadata {
        let metrics = |rmse| PredictionMetrics { count: 372, rmse, plcc: Some(0.1 + 0.2), srocc: None };
        let comparison = ModelComparison { model: metrics(14.18), base: metrics(19.64) };
        CheckpointMetadata {
            name: "sports".into(),
            namespace: "video".into(),
            uid: "0b6c".into(),
            number: 7,
            created: "2026-11-16T12:00:00Z".parse().unwrap(),
            base_model: "vmaf_v0.6.1".into(),
            base_digest: Digest::of(b"base").to_string(),
            parent: Some(Digest::of(b"parent")),
            samples: 400,
            refused: 28,
            cursor: "s1.42".into(),
            all: comparison,
            window: comparison,
            held_out: ModelComparison::default(),
            gate_passed: false,
            gate_message: "SROCC 0.80 is below 0.85".into(),
            seed: u64::MAX,
            ema: 0.99,
        }
    }

    #[test]
    fn metadata_survives_the_round_trip() {
        assert_eq!(CheckpointMetadata::parse(&metadata().annotations()).unwrap(), metadata());
    }

    #[test]
    fn unknown_annotations_are_ignored() {
        let mut annotations = metadata().annotations();
        annotations.insert("dev.vmafx.future".into(), "1".into());
        annotations.insert("com.example.owner".into(), "me".into());
        assert_eq!(CheckpointMetadata::parse(&annotations).unwrap(), metadata());
    }

    #[test]
    fn every_missing_annotation_is_named() {
        let all = metadata().annotations();
        let optional = |key: &str| ["parent", "plcc", "srocc"].iter().any(|end| key.ends_with(end));
        for key in all.keys().filter(|key| !optional(key)) {
            let mut fewer = all.clone();
            fewer.remove(key);
            let error = CheckpointMetadata::parse(&fewer).unwrap_err().to_string();
            assert!(error.contains(key.as_str()), "{key}: {error}");
        }
    }

    #[rstest]
    #[case("dev.vmafx.samples.accepted", "-1")]
    #[case("dev.vmafx.gate.passed", "yes")]
    #[case("dev.vmafx.checkpoint.parent", "sha256:abc")]
    #[case("dev.vmafx.evaluation.all.model.rmse", "14,18")]
    #[case("org.opencontainers.image.created", "yesterday")]
    #[case("org.opencontainers.image.version", "sports-v000008")]
    fn an_invalid_annotation_is_named_with_its_value(#[case] key: &str, #[case] value: &str) {
        let mut annotations = metadata().annotations();
        annotations.insert(key.into(), value.into());
        let error = CheckpointMetadata::parse(&annotations).unwrap_err().to_string();
        assert!(error.contains(key) && error.contains(value), "{error}");
    }

    proptest! {
        #[test]
        fn numbers_survive_bit_for_bit(bits in any::<u64>(), seconds in 0_i64..4_000_000_000) {
            let number = f64::from_bits(bits);
            prop_assume!(!number.is_nan());
            let mut metadata = metadata();
            metadata.all.model = PredictionMetrics { count: bits, rmse: number, plcc: Some(number), srocc: Some(-number) };
            metadata.created = Timestamp::from_second(seconds).unwrap();
            let read = CheckpointMetadata::parse(&metadata.annotations()).unwrap();
            prop_assert_eq!(read.all.model.rmse.to_bits(), number.to_bits());
            prop_assert_eq!(read, metadata);
        }
    }
}
