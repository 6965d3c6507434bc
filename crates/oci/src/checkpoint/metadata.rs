//! What a checkpoint says of itself.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::text::{FactsError, Reader, Writer};
use super::version_tag;
use crate::digest::Digest;

const CREATED: &str = "org.opencontainers.image.created";
const TITLE: &str = "org.opencontainers.image.title";
const VERSION: &str = "org.opencontainers.image.version";

/// What a checkpoint says of itself. Numbers are written so that they are read back to the last bit.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The training's name.
    pub name: String,
    /// Its namespace; empty outside Kubernetes.
    pub namespace: String,
    /// The resource's UID, by which a namesake is told from it; empty outside Kubernetes.
    pub uid: String,
    /// Which of its checkpoints this is, from 1.
    pub number: u64,
    /// When it was made.
    pub created: Timestamp,
    /// The model that training began with.
    pub base_model: String,
    /// Digest of its JSON, `sha256:…`.
    pub base_digest: String,
    /// The manifest of the checkpoint before it.
    pub parent: Option<Digest>,
    /// Samples that were accepted.
    pub samples: u64,
    /// Samples that were not.
    pub refused: u64,
    /// Where the stream of samples goes on.
    pub cursor: String,
    /// Each sample predicted before it was learned from, over all of them.
    pub all: Pair,
    /// The same over the last ones.
    pub window: Pair,
    /// What was put aside for the gate.
    pub held_out: Pair,
    /// Whether the gate let it pass.
    pub gate_passed: bool,
    /// Why, in words.
    pub gate_message: String,
    /// The learner's seed.
    pub seed: u64,
    /// How slowly its average follows.
    pub ema: f64,
}

/// How well the learned model and its base predict the same samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pair {
    /// The learned one.
    pub model: Metrics,
    /// The one it began with.
    pub base: Metrics,
}

/// How well one model predicts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Metrics {
    /// Over how many samples.
    pub count: u64,
    /// Root of the mean squared error, in points of score.
    pub rmse: f64,
    /// Pearson's correlation, if there is one.
    pub plcc: Option<f64>,
    /// Spearman's, of ranks.
    pub srocc: Option<f64>,
}

impl Facts {
    /// `<name>-v000007`: its tag.
    pub fn version(&self) -> String {
        version_tag(&self.name, self.number)
    }

    /// As annotations of a manifest.
    pub fn annotations(&self) -> BTreeMap<String, String> {
        let mut out = Writer::default();
        out.put(CREATED, self.created);
        out.put(TITLE, &self.name);
        out.put(VERSION, self.version());
        out.put("dev.vmafx.training.namespace", &self.namespace);
        out.put("dev.vmafx.training.uid", &self.uid);
        out.put("dev.vmafx.checkpoint.number", self.number);
        out.put_some("dev.vmafx.checkpoint.parent", self.parent.as_ref());
        out.put("dev.vmafx.base.name", &self.base_model);
        out.put("dev.vmafx.base.digest", &self.base_digest);
        out.put("dev.vmafx.samples.accepted", self.samples);
        out.put("dev.vmafx.samples.refused", self.refused);
        out.put("dev.vmafx.samples.cursor", &self.cursor);
        for (part, pair) in self.pairs() {
            for (whose, metrics) in [("model", pair.model), ("base", pair.base)] {
                let key = |what: &str| format!("dev.vmafx.{part}.{whose}.{what}");
                out.put(&key("count"), metrics.count);
                out.put(&key("rmse"), metrics.rmse);
                out.put_some(&key("plcc"), metrics.plcc);
                out.put_some(&key("srocc"), metrics.srocc);
            }
        }
        out.put("dev.vmafx.gate.passed", self.gate_passed);
        out.put("dev.vmafx.gate.message", &self.gate_message);
        out.put("dev.vmafx.learner.seed", self.seed);
        out.put("dev.vmafx.learner.ema", self.ema);
        out.done()
    }

    /// From annotations. What is unknown is left alone, what is missing is named.
    pub fn read(annotations: &BTreeMap<String, String>) -> Result<Self, FactsError> {
        let from = Reader(annotations);
        let metrics = |part: &str, whose: &str| -> Result<Metrics, FactsError> {
            let key = |what: &str| format!("dev.vmafx.{part}.{whose}.{what}");
            Ok(Metrics {
                count: from.get(&key("count"))?,
                rmse: from.get(&key("rmse"))?,
                plcc: from.get_some(&key("plcc"))?,
                srocc: from.get_some(&key("srocc"))?,
            })
        };
        let pair = |part: &str| -> Result<Pair, FactsError> {
            Ok(Pair { model: metrics(part, "model")?, base: metrics(part, "base")? })
        };
        let facts = Self {
            name: from.get(TITLE)?,
            namespace: from.get("dev.vmafx.training.namespace")?,
            uid: from.get("dev.vmafx.training.uid")?,
            number: from.get("dev.vmafx.checkpoint.number")?,
            created: from.get(CREATED)?,
            base_model: from.get("dev.vmafx.base.name")?,
            base_digest: from.get("dev.vmafx.base.digest")?,
            parent: from.get_some("dev.vmafx.checkpoint.parent")?,
            samples: from.get("dev.vmafx.samples.accepted")?,
            refused: from.get("dev.vmafx.samples.refused")?,
            cursor: from.get("dev.vmafx.samples.cursor")?,
            all: pair(ALL)?,
            window: pair(WINDOW)?,
            held_out: pair(HELD_OUT)?,
            gate_passed: from.get("dev.vmafx.gate.passed")?,
            gate_message: from.get("dev.vmafx.gate.message")?,
            seed: from.get("dev.vmafx.learner.seed")?,
            ema: from.get("dev.vmafx.learner.ema")?,
        };
        let version: String = from.get(VERSION)?;
        if version == facts.version() { Ok(facts) } else { Err(FactsError::invalid(VERSION, &version)) }
    }

    fn pairs(&self) -> [(&'static str, Pair); 3] {
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

    fn facts() -> Facts {
        let metrics = |rmse| Metrics { count: 372, rmse, plcc: Some(0.1 + 0.2), srocc: None };
        let pair = Pair { model: metrics(14.18), base: metrics(19.64) };
        Facts {
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
            all: pair,
            window: pair,
            held_out: Pair::default(),
            gate_passed: false,
            gate_message: "SROCC 0.80 is below 0.85".into(),
            seed: u64::MAX,
            ema: 0.99,
        }
    }

    #[test]
    fn facts_are_read_back_as_they_were_written() {
        assert_eq!(Facts::read(&facts().annotations()).unwrap(), facts());
    }

    #[test]
    fn what_is_unknown_is_left_alone() {
        let mut annotations = facts().annotations();
        annotations.insert("dev.vmafx.future".into(), "1".into());
        annotations.insert("com.example.owner".into(), "me".into());
        assert_eq!(Facts::read(&annotations).unwrap(), facts());
    }

    #[test]
    fn every_fact_that_is_missing_is_named() {
        let all = facts().annotations();
        let optional = |key: &str| ["parent", "plcc", "srocc"].iter().any(|end| key.ends_with(end));
        for key in all.keys().filter(|key| !optional(key)) {
            let mut fewer = all.clone();
            fewer.remove(key);
            let error = Facts::read(&fewer).unwrap_err().to_string();
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
    fn a_fact_that_is_none_is_named_with_what_stands_there(#[case] key: &str, #[case] value: &str) {
        let mut annotations = facts().annotations();
        annotations.insert(key.into(), value.into());
        let error = Facts::read(&annotations).unwrap_err().to_string();
        assert!(error.contains(key) && error.contains(value), "{error}");
    }

    proptest! {
        #[test]
        fn numbers_come_back_to_the_last_bit(bits in any::<u64>(), seconds in 0_i64..4_000_000_000) {
            let number = f64::from_bits(bits);
            prop_assume!(!number.is_nan());
            let mut facts = facts();
            facts.all.model = Metrics { count: bits, rmse: number, plcc: Some(number), srocc: Some(-number) };
            facts.created = Timestamp::from_second(seconds).unwrap();
            let read = Facts::read(&facts.annotations()).unwrap();
            prop_assert_eq!(read.all.model.rmse.to_bits(), number.to_bits());
            prop_assert_eq!(read, facts);
        }
    }
}
